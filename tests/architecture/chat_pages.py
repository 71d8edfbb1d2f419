"""The reference of commands in comments, made from the table that `/metaagent help` shows."""

from bot.conversation.verbs import OPTIONS, VERBS

_HEAD = """# Commands in comments, buttons, labels

A command starts a comment on a pull request, in the conversation or in a review thread: `/metaagent VERB [target]
[--key=value]`. [The guide](../howto/commands.md) shows when to use which. `/metaagent help` shows this table.
"""

_RULES = """## What counts as a command

- The first line of the comment that is not blank begins with `/metaagent`. So quotes, code, replies by mail, and prose that
  mentions a command give none; neither does a comment that is edited later.
- Capitals do not matter. `/metaagent` alone is `/metaagent help`. An unknown word is answered with the help, once for each pull
  request.
- `--key=value` may be anywhere after the verb; quote a value with spaces. With an option that the verb does not take, nothing is
  done, and the reply says so.
- Comments of bots are never commands.

## Who is heard

GitHub is asked each time, through the collaborators endpoint, for comments, buttons and labels alike: write access (`write`,
`maintain`, `admin`) is needed. For everybody else nothing is done, and there is no reaction and no reply.

| permission | heard |
| --- | --- |
| admin, maintain, write | yes |
| triage, read, none | no |
| the author of a fork's pull request, a former member | as their permission says |
| a bot | no |

The policy can switch each way off: `triggers.comments`, `triggers.buttons`, `triggers.labels`; see
[the policy](policy.md). `enabled: false` leaves only the verbs that start no work.

## What is answered

MetaAgent reacts to the comment with eyes at once, and with a rocket when the command is done or a confused face when it is not.
One reply says what was done, or why not. Work (`fix`, `explain`, `reproduce`, `retry`, `improve`, `apply`, `answer`) is answered by
its mission: in our check while it runs, and in one comment when it ends. The same comment, press or label is done once, however
often GitHub delivers it.

In an issue, commands about the whole repository work, such as `improve`, `status`, `config`, `lessons`, `off repository` and
`stop repository`. Without the App's optional permission `issues: write`, they are done there without a reaction and a reply.

## Buttons and labels

| where | what | is |
| --- | --- | --- |
| our check | button | the verb of its identifier, such as `fix`, `rerun` or `off` |
| our check | *Re-run* | `retry` |
| pull request | label `metaagent:fix` | `fix`; the label is taken off when the mission is asked for |
| pull request | label `metaagent:off` | off for as long as the label is there |
"""


def chat_page() -> str:
    """Every verb and option, and the rules."""
    lines = [_HEAD, "## Verbs", "", "| command | what it does | options |", "| --- | --- | --- |"]
    for entry in VERBS.values():
        options = ", ".join(f"`--{option}`" for option in entry.options)
        lines.append(f"| `/metaagent {entry.usage}` | {entry.does} | {options} |")
    lines += ["", "## Options", "", "| option | what it says |", "| --- | --- |"]
    lines += [f"| `--{option}=…` | {says} |" for option, says in OPTIONS.items()]
    return "\n".join([*lines, "", _RULES])
