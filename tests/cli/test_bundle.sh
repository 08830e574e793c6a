#!/usr/bin/env bash
# scripts/bundle: small, the same bytes each time, nothing of glibc or the driver in it, and what it holds runs from another folder
# with an empty environment; as root, in a root that holds glibc and nothing else.
. "$(dirname "$0")/lib.sh"
: "${DLB_BUILD_DIR:?}"

[ -z "$DLB_SANITIZE" ] || skip "bundles hold no sanitizers"
for tool in objdump readelf strip dpkg-query zstd; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
make_bundle=$DLB_SOURCE_DIR/scripts/bundle

# --- one archive, twice. A low level: what is small then is small at the usual one, which takes half a minute.
for folder in first second; do
    run "$make_bundle" --build "$DLB_BUILD_DIR" --out "$folder" --level 3
    expect_exit 0
done
expect_out '^sha256 +[0-9a-f]{64}$'
expect_out 'needs glibc 2\.[0-9]+'
archive=$(echo first/dlbench-*-linux-*.tar.zst)
expect cmp "$archive" "second/${archive#first/}"
expect [ "$(stat -c %s "$archive")" -lt $((40 << 20)) ]

# --- what is in it
mkdir -p "elsewhere/far away" empty
zstd -q -d -c "$archive" | tar -C "elsewhere/far away" -xf -
bundle=$(echo "$tmp/elsewhere/far away/"dlbench-*)
for name in bin/dlbench README.md LICENSE configs/quickstart.toml share/dlbench/python/dlbench.py tests/gpu/acceptance; do
    expect_file "$bundle/$name"
done
for name in "$bundle"/lib/*; do
    case ${name##*/} in
    libc.so* | libm.so* | libpthread* | libdl.so* | librt.so* | libresolv.so* | ld-linux* | libcuda.so* | libnvidia*)
        failed "${name##*/} is the machine's own and should not be carried"
        ;;
    esac
done
expect [ "$(find "$bundle/licences" -name copyright | wc -l)" -gt 3 ]
expect [ -z "$(find "$bundle" -perm /022)" ]

# --- the licence of the CUDA runtime, which is linked in: there, or missed aloud
if [ -e "$bundle/libexec/bare_copy" ]; then
    grep -q '^licence MISSING' "$out" || expect [ -n "$(ls "$bundle/licences/cuda")" ]
    if ! compgen -G '/usr/share/doc/libcudart*/copyright' >/dev/null; then
        run env CUDA_PATH="$tmp/empty" "$make_bundle" --build "$DLB_BUILD_DIR" --out third --level 1
        expect_exit 0
        expect_out '^licence MISSING: .*EULA\.txt'
        expect_err 'licences/cuda'
    fi
fi

# --- it runs, and loads nothing but glibc and a driver from outside (hwloc would look for plugins where workers are placed)
quick=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=64 --set generate.sample_bytes=4096
    --set loader.batch_size=8 --set loader.num_workers=2 --set device.step_ms=0.2 --set run.repeats=1 --set run.checksum=true)
bare=(env -i -C empty LD_DEBUG=files LD_DEBUG_OUTPUT="$tmp/loaded")
run "${bare[@]}" "$bundle/bin/dlbench" doctor --json
expect_json 'd["command"] == "doctor" and any(m["name"] == "files" and m["available"] for m in d["modules"])'
run "${bare[@]}" "$bundle/bin/dlbench" run "${quick[@]}" --run-name out --json
expect_exit 0
expect_json 'd["cells"][0]["status"] == "ok" and d["environment"]["versions"]["libraries"]'
expect_file empty/results/out/summary.json
run "${bare[@]}" "$bundle/bin/dlbench" run "${quick[@]}" --set loader.bind=core --run-name bound --json
[ "$code" -eq 2 ] && grep -q hwloc "$err" || expect_exit 0 # a build without hwloc refuses
outside=$(sed -n 's/.*calling init: //p' "$tmp"/loaded.* | grep -v "^$bundle/" | sed 's|.*/||' | sort -u |
    grep -vE '^(lib(c|m|dl|rt|pthread|resolv|util|anl|nss_[a-z]+)\.so\.[0-9]|ld-linux|lib(cuda|nvidia-[a-z]+)\.so)')
[ -z "$outside" ] || failed "libraries from outside: $outside"

# --- tests/gpu/acceptance takes the archive, and its own checks out of it
run env CUDA_VISIBLE_DEVICES=-1 python3 "$DLB_SOURCE_DIR/tests/gpu/acceptance" "$archive" --rehearse --quick --only errors --out judged
expect_exit 0
expect_out '^yes +device.kind = "cuda" without a GPU'
expect_err '^plan: errors [0-9]+ s; '

# --- in a root that holds glibc and nothing else
root=$tmp/root
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    mkdir -p "$root"/{proc,sys,dev,tmp,lib64,lib/x86_64-linux-gnu,opt}
    for file in $(ldd "$bundle/bin/dlbench" | grep -oE '/[^ ]*/(lib(c|m|dl|rt|pthread|resolv)\.so\.[0-9]|ld-linux[^ ]*)'); do
        cp -L "$file" "$root/$([ "${file##*/ld-linux}" = "$file" ] && echo lib/x86_64-linux-gnu || echo lib64)/"
    done
    cp -r "$bundle" "$root/opt/dlbench"
    inside() { # PROGRAM ARGUMENTS
        run unshare -m bash -c 'mount --bind /proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
            exec env -i "$(command -v chroot)" "$0" "$@"' "$root" "$@"
    }
    small=(--set loader.batch_size=8 --set device.step_ms=0.2 --set run.repeats=1 --set run.warmup_batches=1 --results /tmp/results)
    inside /opt/dlbench/bin/dlbench doctor
    expect_out 'files'
    for format in files webdataset; do
        inside /opt/dlbench/bin/dlbench gen --set dataset.format=$format --set dataset.codec=jpeg --set dataset.path=/tmp/data-$format \
            --set generate.samples=40 --set generate.sample_bytes=8192
        has_code E_MISSING && continue # a minimal build
        expect_exit 0
        inside /opt/dlbench/bin/dlbench sweep --exhaustive --set dataset.format=$format --set dataset.codec=jpeg "${small[@]}" \
            --set dataset.path=/tmp/data-$format --set 'sweep.loader.num_workers=[0, 2]' --set loader.kind=auto --run-name $format --json
        expect_exit 0
        expect_json 'len(d["cells"]) == 2 and all(c["status"] == "ok" for c in d["cells"])'
    done
    inside /opt/dlbench/bin/dlbench run "${quick[@]}" --set loader.kind=processes --results /tmp/results --run-name last --json
    expect_exit 0
else
    echo "not run in a bare root: that takes root and a mount namespace"
fi

# --- errors
run "$make_bundle" --build nowhere --out out
expect_exit 3
expect_err 'nowhere/dlbench'
run "$make_bundle" --nonsense
expect_exit 2
expect_err 'usage: scripts/bundle'
run "$make_bundle" --level many
expect_exit 2
expect_no_file out
finish
