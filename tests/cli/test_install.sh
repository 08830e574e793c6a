#!/usr/bin/env bash
# cmake --install puts a program that runs from any folder, and all that belongs to it; cpack makes a package of the same files.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../mpi/launchers.sh"

build=$(dirname "$dlbench")
[ -e "$build/cmake_install.cmake" ] || { echo "not shown: $build is no build folder"; finish; }
files="bin/dlbench share/man/man1/dlbench.1 share/bash-completion/completions/dlbench share/zsh/vendor-completions/_dlbench
    share/fish/vendor_completions.d/dlbench.fish share/dlbench/dlbench.schema.json share/dlbench/summary.schema.json
    share/dlbench/configs/imagenet.toml share/dlbench/configs/workloads/resnet50.toml share/dlbench/python/dlbench.py
    share/doc/dlbench/copyright share/doc/dlbench/CHANGELOG.md share/doc/dlbench/docs/verdict.md"

run cmake --install "$build" --prefix "$tmp/root"
expect_exit 0
mv root moved # relocatable
for file in $files share/doc/dlbench/LICENSE; do [ -s "moved/$file" ] || failed "$file was not installed"; done
run moved/bin/dlbench --version
expect_exit 0
"$dlbench" man >man.txt
expect cmp -s man.txt moved/share/man/man1/dlbench.1
# A name that is no file here is that of an installed configuration.
run moved/bin/dlbench gen --config tokens.toml --set dataset.path=data --set generate.samples=1000
expect_exit 0
expect_err "moved/share/dlbench/configs/tokens\.toml"
printf '[dataset]\nnot_a_key = 1\n' >tokens.toml
run moved/bin/dlbench gen --config tokens.toml --set dataset.path=data
expect_failed E_CONFIG_UNKNOWN_KEY 2
rm tokens.toml
run moved/bin/dlbench gen --config ./tokens.toml --set dataset.path=data
expect_failed E_CONFIG_UNREADABLE 2
run moved/bin/dlbench gen --config ../configs/tokens.toml --set dataset.path=data
expect_failed E_CONFIG_UNREADABLE 2

if command -v cpack >/dev/null && command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    run cpack -G DEB --config "$build/CPackConfig.cmake" -B "$tmp/packages"
    expect_exit 0
    package=$(find packages -maxdepth 1 -name 'dlbench_*.deb')
    [ -n "$package" ] || failed "cpack made no package"
    run dpkg-deb -f "$package" Depends
    expect_out 'libjansson'
    expect_no_out 'libopenmpi|libmpich'
    run dpkg-deb -c "$package"
    for file in $files share/doc/dlbench/changelog; do
        case $file in */man1/* | */changelog) file=$file.gz ;; esac # as Debian's policy wants them
        expect_out " \./usr/$file\$"
    done
    dpkg-deb -x "$package" unpacked
    run unpacked/usr/bin/dlbench --version
    expect_exit 0
    expect cmp -s man.txt <(gzip -dc unpacked/usr/share/man/man1/dlbench.1.gz)
    for mpi in openmpi mpich; do # a package of its own for each, beside one program
        [ -e "$build/dlbench-mpi-$mpi.so" ] || continue
        run dpkg-deb -c packages/dlbench-"$mpi"_*.deb
        expect_out " \./usr/lib/dlbench/dlbench-mpi-$mpi\.so\$"
        run dpkg-deb -c "$package"
        expect_no_out "dlbench-mpi-"
        run dpkg-deb -f packages/dlbench-"$mpi"_*.deb Depends
        expect_out "\bdlbench \(= [0-9.]+\)"
        expect_out "\blib$mpi"
        expect_no_out "\blib$([ "$mpi" = mpich ] && echo openmpi || echo mpich)"

        # Below one folder, the program finds the module of the package, and no other.
        command -v "mpirun.$mpi" >/dev/null || continue
        launcher "$mpi" 2
        ranks=("${launch[@]}" unpacked/usr/bin/dlbench run --set dataset.format=synthetic --set dataset.codec=raw --set run.repeats=1
            --set generate.samples=320 --set generate.sample_bytes=64 --set loader.batch_size=16 --set device.step_ms=0 --json)
        run "${ranks[@]}"
        expect [ "$code" -ne 0 ]
        expect_err 'E_RANKS_NO_MODULE'
        dpkg-deb -x packages/dlbench-"$mpi"_*.deb unpacked
        run "${ranks[@]}"
        expect_exit 0
        expect_json 'd["world"] == 2 and [r["rank"] for r in d["ranks"]] == [0, 1]'
    done
    if command -v lintian >/dev/null; then # but for the address of who makes packages, which -DCPACK_PACKAGE_CONTACT gives
        run lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$package"
        expect_exit 0
        expect_no_out '^[EW]: '
    fi
else
    echo "not shown: the package (cpack, dpkg-deb and dpkg-shlibdeps make it)"
fi

if command -v cpack >/dev/null; then
    run cpack -G TGZ --config "$build/CPackConfig.cmake" -B "$tmp/packages"
    expect_exit 0
    mkdir archive
    tar -xzf packages/*.tar.gz -C archive --strip-components 1
    for file in $files; do [ -s "archive/$file" ] || failed "the archive lacks $file"; done
fi
if command -v cpack >/dev/null && command -v rpmbuild >/dev/null && command -v rpm >/dev/null; then
    run cpack -G RPM --config "$build/CPackConfig.cmake" -B "$tmp/packages"
    expect_exit 0
    run rpm -qp --requires packages/*.rpm
    expect_out '^libjansson\.so'
    run rpm -qpl packages/*.rpm
    expect_out '^/usr/share/zsh/site-functions/_dlbench$'
    expect_no_out '^/usr/share/(man|fish|zsh)$'
else
    echo "not shown: the .rpm (rpmbuild makes it)"
fi

finish
