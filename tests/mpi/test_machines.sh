#!/usr/bin/env bash
# Two "machines": network namespaces with host names of their own, over a pair of virtual cards. The launchers reach the second one
# by an agent in place of ssh.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
[ "$(id -u)" -eq 0 ] && command -v ip >/dev/null || skip "network namespaces need root and the program ip"

space=dlb$$ a=10.77.0.1 b=10.77.0.2
ip netns add "${space}a" 2>/dev/null || skip "network namespaces cannot be made here"
trap 'ip netns del "${space}a"; ip netns del "${space}b"; rm -rf "$tmp"' EXIT
ip netns add "${space}b"
ip link add "${space}x" type veth peer name "${space}y" || skip "there are no virtual cards (veth) here"
ip link set "${space}x" netns "${space}a"
ip link set "${space}y" netns "${space}b"
ip -n "${space}a" addr add $a/24 dev "${space}x"
ip -n "${space}b" addr add $b/24 dev "${space}y"
for s in a b; do ip -n "$space$s" link set lo up; done
ip -n "${space}a" link set "${space}x" up
ip -n "${space}b" link set "${space}y" up

cat >agent <<EOF
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
case \$1 in $a | nodea) s=a ;; *) s=b ;; esac
shift
exec ip netns exec $space\$s unshare --uts sh -c "hostname node\$s; \$*"
EOF
chmod 755 agent

# Sets launch: two ranks on each machine, in place of mpi.sh's.
launcher() { # implementation, number of ranks
    launch=(ip netns exec "${space}a" unshare --uts sh -c 'hostname nodea; exec "$@"' sh)
    if [ "$1" = openmpi ]; then
        launch+=(mpirun.openmpi --host "$a:2,$b:2" -np 4 --oversubscribe --mca plm_rsh_agent "$PWD/agent" --mca btl "tcp,self"
            --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24)
    else
        launch+=(mpirun.mpich -hosts "$a:2,$b:2" -np 4 -launcher ssh -launcher-exec "$PWD/agent" -localhost "$a" -iface "${space}x"
            -genv UCX_TLS "tcp,self") # by default it sees that both share a kernel, and goes through memory
    fi
}

work=("${brief[@]}" --set run.epochs=2 --set run.checksum=true --set loader.shuffle=true --set generate.samples=320)
sums='[(e["samples"], e["unique"], e["set_checksum"]) for e in d["cells"][0]["epochs"]]'
start_s=$SECONDS
run "$dlbench" run "${work[@]}" --run-name one --json
alone_s=$((SECONDS - start_s))
json_get "$out" "$sums" >one.sums
for mpi in "${implementations[@]}"; do
    launcher "$mpi" "$n_ranks"
    # --- MPI_Finalize of MPICH before 4.2 would hang in about half of such jobs, until 10 s are over
    for _ in 1 2 3 4; do
        start_s=$SECONDS
        run "${launch[@]}" "$dlbench" run "${work[@]}" --run-name "$mpi" --overwrite
        expect_exit 0
        expect [ $((SECONDS - start_s)) -lt $((alone_s + 9)) ]
    done
    valid_summary "results/$mpi/summary.json"
    json_get "results/$mpi/summary.json" "$sums" >many.sums
    expect cmp -s one.sums many.sums
    expect [ "$(json_get "results/$mpi/summary.json" 'sorted((n["node"], n["ranks"]) for n in d["nodes"])')" = "[('nodea', 2), ('nodeb', 2)]" ]

    # --- the link is taken down: within the deadline of 20 s, and what a result takes, rank 0 names a rank of the other machine and
    # writes what it has, and no process of dlbench is left on either. A launcher may wait for the network on its own, until it is
    # interrupted twice. Once the link is up again --resume goes on.
    start_measured "$mpi" "down-$mpi"
    ip -n "${space}a" link set "${space}x" down
    start_s=$SECONDS
    for _ in $(seq 400); do [ -z "$(both_of "down-$mpi")" ] && break; sleep 0.1; done
    expect [ -z "$(both_of "down-$mpi")" ]
    expect [ $((SECONDS - start_s)) -le 40 ]
    expect_err 'rank [23] on nodeb.*E_RANK_LOST'
    expect [ "$(json_get "results/down-$mpi/summary.json" 'd["partial"]')" = True ]
    kill -INT "$pid" 2>/dev/null && sleep 2 && kill -INT "$pid" 2>/dev/null
    expect_end 30 "down-$mpi"
    ip -n "${space}a" link set "${space}x" up
    expect_resumed "$mpi" "down-$mpi"
done
finish
