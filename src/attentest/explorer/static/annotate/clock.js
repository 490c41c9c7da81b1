// Time on an item: only while the page can be seen.

export class Clock {
  constructor(page = document, now = () => performance.now()) {
    this.page = page;
    this.now = now;
    page.addEventListener("visibilitychange", () => this.turn());
    this.start();
  }

  /** Begin at zero. */
  start() {
    this.sum = 0;
    this.since = this.page.visibilityState === "visible" ? this.now() : null;
  }

  turn() {
    if (this.page.visibilityState === "visible") this.since ??= this.now();
    else if (this.since !== null) {
      this.sum += this.now() - this.since;
      this.since = null;
    }
  }

  /** Seconds that the page was seen since the start. */
  seconds() {
    const running = this.since === null ? 0 : this.now() - this.since;
    return Math.round(this.sum + running) / 1000;
  }
}
