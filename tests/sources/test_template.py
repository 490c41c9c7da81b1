"""Chat templates are programs: each is run once, elsewhere, within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.chat import TEMPLATE, chat_tokenizer

from attentest.errors import InputError
from attentest.sources import rendering
from attentest.sources.template import PROBES, frame_of

TRIMMING = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }} [/]{% endfor %}"


def tokenizer(template: str):
    made = chat_tokenizer()
    made.chat_template = template
    return made


@pytest.mark.parametrize("template", [TEMPLATE, TRIMMING])
def test_every_message_stands_as_the_library_puts_it(template: str) -> None:
    made = tokenizer(template)
    frame = frame_of(made)

    @settings(max_examples=60, deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
    def same(message: str) -> None:
        chat = [{"role": "user", "content": message}]
        wanted = made.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        assert frame.around(message) == wanted

    same()


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{% for %}", "cannot be used .TemplateSyntaxError"),
        ("{{ raise_exception('never') }}", "cannot be used .*never"),
        ("{{ ''.__class__.__mro__ }}", "cannot be used .SecurityError"),
        ("{{ 'a' * 10 ** 10 }}", "cannot be used .MemoryError"),
        ("{{ messages[0]['content'] | tojson }}", "does not repeat a message"),
        ("{{ messages[0]['content'] }}{{ messages[0]['content'] }}", "does not repeat a message"),
        ("{{ messages[0]['content'] | length }}{{ messages[0]['content'] }}", "does not repeat a message"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_line(template: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        frame_of(tokenizer(template))
    assert "\n" not in str(refused.value)
    assert "--no-chat" in str(refused.value)


@pytest.mark.slow
def test_a_template_without_end_ends() -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ messages[0]['content'] }}"
    with pytest.raises(InputError, match="more memory or time than any needs"):
        frame_of(tokenizer(loop))


def test_the_process_reads_messages_and_writes_texts(monkeypatch, capsys) -> None:
    """The script itself, without its bounds, which would be this process's."""
    import io
    import json

    monkeypatch.setattr(rendering, "bound", lambda: None)
    asked = {"template": TEMPLATE, "special": {}, "messages": PROBES}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
    rendering.main()
    assert json.loads(capsys.readouterr().out)["texts"][0] == (f"<start>user\n{PROBES[0]}<end>\n<start>assistant\n")
