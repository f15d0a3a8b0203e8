"""PreToolUse of commands and edits: remind Claude, or ask the user, when a call breaks a guarded rule.

Registered only while there is a guard (`claude-mem learnings guard`); it never denies a call. The code is in
`guarding`, because Python compiles a script at every start, but an imported module only once.
"""

if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event, guarding

    event.end(guarding.answer)
