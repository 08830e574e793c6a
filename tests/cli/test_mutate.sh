#!/usr/bin/env bash
# Damaged files, whatever the damage: an exit code, a message with a code, JSON where it is asked for, no crash (scripts/mutate says
# what it checks). A few cases; test_mutate_long.sh has thousands.
. "$(dirname "$0")/lib.sh"
mutate=$DLB_SOURCE_DIR/scripts/mutate
run "$mutate" --bin "$dlbench" --cases "${DLB_MUTATE_CASES:-48}" --seed "${DLB_MUTATE_SEED:-1}"
expect_exit 0
expect_out '^mutate: [0-9]+ cases .* 0 failed$'

# It sees a crash, and a failure without a code.
cat >crashes <<EOS
#!/usr/bin/env bash
[ "\$1" = gen ] && exec "$dlbench" "\$@"
kill -SEGV \$\$
EOS
cat >silent <<EOS
#!/usr/bin/env bash
[ "\$1" = gen ] && exec "$dlbench" "\$@"
exit 3
EOS
chmod +x crashes silent
for fake in crashes silent; do
    run "$mutate" --bin "$tmp/$fake" --cases 2 --keep "$tmp/kept" files
    expect_exit 1
    expect_out '^FAILED: case 1 '
    expect_file "kept/1-1/command"
    rm -rf kept
done
finish
