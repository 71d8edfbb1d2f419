"""Issues and their comments, kept in memory."""

import re

STATES = ("open", "closed")
PRIORITIES = {"low": 0, "normal": 1, "high": 2}


class Unknown(Exception):
    """There is no such issue."""


class Issue:
    def __init__(self, number, title, author, priority="normal"):
        self.number = number
        self.title = title
        self.author = author
        self.priority = priority
        self.state = "open"
        self.labels = set()
        self.comments = []
        self.votes = set()

    def as_dict(self):
        return {
            "number": self.number,
            "title": self.title,
            "author": self.author,
            "priority": self.priority,
            "state": self.state,
            "labels": sorted(self.labels),
            "comments": len(self.comments),
            "votes": len(self.votes),
        }


class Tracker:
    def __init__(self):
        self.issues = {}

    def create(self, title, author, priority="normal"):
        if priority not in PRIORITIES:
            raise ValueError(f"no priority {priority}")
        issue = Issue(len(self.issues) + 1, title, author, priority)
        issue.labels |= set(re.findall(r"#(\w+)", title))
        self.issues[issue.number] = issue
        return issue

    def get(self, number):
        issue = self.issues.get(number)
        if issue is None:
            raise Unknown(f"no issue {number}")
        return issue

    def list(self, state=None, label=None, sort="number"):
        """Return the issues of a state with a label; the most urgent or the most voted first."""
        found = list(self.issues.values())
        if state:
            found = [issue for issue in found if issue.state == state]
        if label:
            found = [issue for issue in found if label in issue.labels]
        if sort == "priority":
            found.sort(key=lambda issue: (-PRIORITIES[issue.priority], issue.number))
        elif sort == "votes":
            found.sort(key=lambda issue: len(issue.votes), reverse=True)
        return found

    def vote(self, number, user):
        """Add a vote or take it back. Return the number of votes."""
        votes = self.get(number).votes
        if user in votes:
            votes.remove(user)
        else:
            votes.add(user)
        return len(votes)

    def summary(self):
        """Return the number of issues in each state."""
        counts = dict.fromkeys(STATES, 0)
        for issue in self.issues.values():
            counts[issue.state] += 1
        return counts


def mentions(text):
    """Return the users that a text mentions, each once, in order."""
    return list(dict.fromkeys(name.lower() for name in re.findall(r"@(\w+)", text)))
