#!/usr/bin/env bash
# The colours of the page's series can be told apart; the check finds those that cannot.
. "$(dirname "$0")/lib.sh"

check() { # style sheet
    run python3 "$DLB_SOURCE_DIR/tests/support/colours.py" "$1"
}

check "$DLB_SOURCE_DIR/reports/html/page.css"
expect_exit 0
expect_out 'light: .* [0-9.]+ apart'
expect_out 'dark: .* [0-9.]+ apart'

# --- two that are one colour without cones for green, and one that is as light as the card
sed 's/--c4: #[0-9a-f]*/--c4: #8a6d00/' "$DLB_SOURCE_DIR/reports/html/page.css" >alike.css
check alike.css
expect_exit 1
expect_out '--c1 and --c4 are [0-9.]+ apart'
sed 's/--c2: #[0-9a-f]*/--c2: #eeeeee/' "$DLB_SOURCE_DIR/reports/html/page.css" >pale.css
check pale.css
expect_exit 1
expect_out '--c2 has a contrast'
finish
