#!/usr/bin/env bash
# The .deb in a fresh root of this Debian, with nothing else: apt takes its dependencies alone, and doctor, `dlbench PATH` on photos,
# the manual page and completion work there.
. "$(dirname "$0")/lib.sh"
: "${DLB_BUILD_DIR:?}"

[ -z "$DLB_SANITIZE" ] || skip "packages hold no sanitizers"
[ "$(id -u)" -eq 0 ] || skip "debootstrap and chroot need root"
for tool in debootstrap cpack dpkg-deb dpkg-shlibdeps chroot; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
# shellcheck disable=SC1091 # of the system
. /etc/os-release
limit_s=900
mirror=$(sed -nE 's/^(deb|URIs:) +(\[[^]]*\] +)?(http[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1)
root=$tmp/root

run cpack -G DEB --config "$DLB_BUILD_DIR/CPackConfig.cmake" -B "$tmp/packages"
expect_exit 0
package=$(find packages -maxdepth 1 -name '*.deb')
run debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "${mirror:-http://deb.debian.org/debian}"
[ "$code" -eq 0 ] || skip "debootstrap: $(tail -n 1 "$out" "$err" | tr '\n' ' ')"
trap 'umount "$root/proc" "$root/sys" "$root/dev/shm" 2>/dev/null; rm -rf "$tmp"' EXIT
if ! mount -t proc proc "$root/proc" || ! mount -t sysfs sysfs "$root/sys" || ! mount -t tmpfs tmpfs "$root/dev/shm"; then skip "nothing can be mounted here"; fi

inside() { run chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@"; }

cp "$package" "$root/tmp/dlbench.deb"
chroot "$root" dpkg-query -W -f '${Package}\n' | sort >before
[ -e /etc/resolv.conf ] && cp /etc/resolv.conf "$root/etc/"
for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf; do [ -e "$file" ] && cp "$file" "$root/etc/apt/apt.conf.d/"; done
inside apt-get install -y --no-install-recommends /tmp/dlbench.deb
expect_exit 0
chroot "$root" dpkg-query -W -f '${Package}\n' | sort | comm -13 before - >added
echo "installed with it: $(paste -sd ' ' added)"
expect grep -qx dlbench added
expect [ -z "$(grep -E -- '-dev$|^(python3|build-essential|gcc.*|cmake)$' added)" ]

inside dlbench doctor
expect_exit 0
cat "$out"
inside dlbench doctor --json
for module in image audio jpeg zstd webdataset hdf5 lmdb; do
    expect_json "any(m['name'] == '$module' and m['available'] for m in d['modules'])"
done
inside dlbench gen --dataset.codec jpeg --dataset.path /root/photos --generate.samples 200 --generate.sample_bytes 20kB
expect_exit 0
inside dlbench /root/photos --sweep.max_minutes 1 --set sweep.loader.num_workers='[0, 1]' --set sweep.loader.prefetch_factor='[2]' \
    --results /root/results --run-name photos
expect_exit 0
expect_out '^Verdict: '
cat "$out"
expect_file "$root/root/results/photos/summary.json"
# The page and the completion are where man-db and bash-completion look.
expect [ "$(gzip -dc "$root/usr/share/man/man1/dlbench.1.gz" | head -c 3)" = .TH ]
inside bash --norc -c '. /usr/share/bash-completion/completions/dlbench && complete -p dlbench'
expect_exit 0
expect_out 'dlbench$'
inside apt-get purge -y dlbench
expect_exit 0
expect_no_file "$root/usr/bin/dlbench"
finish
