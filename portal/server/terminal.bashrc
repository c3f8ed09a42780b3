# A terminal of a session reads this in place of ~/.bashrc, which may set PATH from scratch.
if [ -r ~/.bashrc ]; then
    . ~/.bashrc
fi
case ":$PATH:" in
    *":$PORTAL_COMMANDS:"*) ;;
    *) PATH="$PORTAL_COMMANDS:$PATH" ;;
esac
