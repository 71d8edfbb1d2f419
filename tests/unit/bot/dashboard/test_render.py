"""Values in pages."""

from bot.dashboard.render import diff_lines, environment

SHOWN = '{% for line in text | diff %}<i class="{{ line.kind }}">{{ line.text }}</i>{% endfor %}'


def shown(text: str) -> str:
    return environment().from_string(SHOWN).render(text=text)


def test_the_lines_of_a_diff_have_kinds_and_are_escaped() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+<script>\n same"
    kinds = [str(line.kind) for line in diff_lines(diff)]
    assert kinds == ["file", "file", "place", "removed", "added", "same"]
    assert '<i class="added">+&lt;script&gt;</i>' in shown(diff)


def test_a_diff_is_sanitized_as_a_whole() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq9XkZ\n" * 3
    page = shown(f"{key}-----END RSA PRIVATE KEY-----\n+a\u202eb")
    assert "MIIEpAIB" not in page
    assert "\u202e" not in page


def test_one_of_a_kind_is_written_in_the_singular() -> None:
    pages = environment()
    source = pages.loader.get_source(pages, "mission.html")[0] if pages.loader else ""
    (line,) = [line for line in source.splitlines() if "<summary>{{ one.number }}" in line]
    summary = line.partition("<summary>")[2].partition("{% if")[0]
    one = {"number": 1, "tried": 1, "plausible": 1}
    assert pages.from_string(summary).render(one=one) == "1: 1 candidate tried, 1 plausible"
