"""Number all entries anew."""


def reindex(journal):
    for number, entry in enumerate(journal._entries, 1):
        entry.number = number


def verify(journal):
    return all(entry.number for entry in journal._entries)
