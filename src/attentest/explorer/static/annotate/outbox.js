// What was answered and is not acknowledged yet: kept in this browser, sent in order, again and again until it is.

const DELAYS = [500, 1000, 2000, 4000, 8000, 15000];

/** What tells one sending from another. No randomUUID: it is missing where a study is served without TLS. */
export const newNonce = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");

/** Whether another attempt may go better: no answer at all, a busy server, a broken one. */
export const passes = (error) => error.status === undefined || error.status === 408 || error.status === 429 || error.status >= 500;

/** Entries of the browser's storage under a prefix, each by itself, so that two windows cannot lose each other's. */
export class Kept {
  constructor(prefix, storage = ownStorage()) {
    this.prefix = `${prefix}/`;
    this.storage = storage;
    this.count = 0;
  }

  all() {
    const keys = this.#try(() => Object.keys(this.storage)) ?? [];
    return keys.filter((key) => key.startsWith(this.prefix)).sort().flatMap((key) => this.#try(() => [{ ...JSON.parse(this.storage.getItem(key)), key }]) ?? []);
  }

  put(op) {
    this.count += 1;
    op.key = `${this.prefix}${String(Date.now()).padStart(15, "0")}-${String(this.count).padStart(6, "0")}-${op.nonce}`;
    this.#try(() => this.storage.setItem(op.key, JSON.stringify(op)));
  }

  drop(op) {
    this.#try(() => this.storage.removeItem(op.key));
  }

  #try(make) {
    try {
      return this.storage ? make() : undefined;
    } catch {
      return undefined; // full or forbidden: what is in memory is sent all the same
    }
  }
}

function ownStorage() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/**
 * Which of the kept ones are still to be sent, given what the server has: {given: item → choice, last}.
 * What is stored is dropped. Where another answer was given since, on another machine perhaps, that one stays: clash.
 */
export function settled(ops, { given, last }) {
  const found = { send: [], drop: [], clash: null };
  const ours = new Set();
  for (const op of ops) {
    if (op.kind === "undo") {
      if (found.send.length || last === op.last) found.send.push(op);
      else found.drop.push(op);
    } else if (ours.has(op.item) || given[op.item] === undefined) {
      found.send.push(op);
      ours.add(op.item);
    } else {
      found.drop.push(op);
      if (given[op.item] === op.choice) ours.add(op.item);
      else found.clash = op;
    }
  }
  return found;
}

/**
 * send(op): a promise of what the server says. acknowledged(op, answer, left). waiting(milliseconds): the next attempt.
 * refused(op, error): a promise of true where the server will never take it and it is to be dropped; false stops, and keeps it.
 */
export class Outbox {
  constructor({ kept, send, acknowledged, refused, waiting, delays = DELAYS }) {
    Object.assign(this, { kept, send, acknowledged, refused, waiting, delays });
    this.list = [];
    this.running = false;
    this.wake = () => {};
  }

  get size() {
    return this.list.length;
  }

  add(...ops) {
    for (const op of ops) {
      if (!op.key) this.kept.put(op);
      this.list.push(op);
    }
    return this.run();
  }

  /** Try at once. */
  now() {
    this.wake();
    return this.run();
  }

  async run() {
    if (this.running) return;
    this.running = true;
    let failures = 0;
    while (this.list.length) {
      const op = this.list[0];
      let answer = null;
      try {
        answer = await this.send(op);
      } catch (error) {
        const lasting = passes(error) ? null : await this.refused(op, error).catch(() => null);
        if (lasting === null) {
          const pause = this.delays[Math.min(failures, this.delays.length - 1)];
          failures += 1;
          this.waiting(pause);
          await this.#sleep(pause);
          continue;
        }
        if (!lasting) break;
      }
      failures = 0;
      this.list.shift();
      this.kept.drop(op);
      if (answer) this.acknowledged(op, answer, this.list.length);
    }
    this.running = false;
  }

  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
