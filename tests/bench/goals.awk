# SPDX-License-Identifier: BSD-3-Clause
# goals.awk - what is aimed at, each as a ratio within one run
#
# goal(TITLE, METRIC, SUBJECT, BENCH, PEER, PEER'S BENCH, FACTOR, SENSE)
#
# METRIC speed: operations in a second; cpu: daemon CPU seconds per GiB;
# switches: context switches of client and daemon per operation. The SUBJECT
# "default" is the ring where it could be mounted, else dev. SENSE "min": at
# least so many times the peer's; "max": at most. A quantity that should equal
# the peer's has 0.95 for a factor: closer than that no two runs come.

function goal(title, metric, subject, bench, peer, peer_bench, factor, sense) {
	goals++
	g_title[goals] = title
	g_metric[goals] = metric
	g_subject[goals] = subject
	g_bench[goals] = bench
	g_peer[goals] = peer
	g_peer_bench[goals] = peer_bench == "" ? bench : peer_bench
	g_factor[goals] = factor
	g_sense[goals] = sense == "" ? "min" : sense
}

function speed(title, subject, bench, peer, factor) {
	goal(title, "speed", subject, bench, peer, "", factor, "min")
}

BEGIN {
	speed("1 MiB direct write", "default", "write-1m", "tmpfs", 0.4)
	speed("1 MiB direct write", "default", "write-1m", "ll", 1.8)
	speed("1 MiB direct write, non-temporal", "default", "write-1m", "flushed", 0.95)
	speed("64 KiB direct write, non-temporal", "default", "write-64k", "flushed", 0.95)
	speed("1 MiB direct read", "default", "read-1m", "tmpfs", 0.35)
	speed("1 MiB direct read", "default", "read-1m", "ll", 20)
	speed("4 KiB random direct read", "default", "randread-4k", "ll", 1.2)
	speed("4 KiB random direct write", "default", "randwrite-4k", "ll", 1.15)
	speed("pipe to file, 64 KiB pipe", "default", "splice-64k", "ll", 1.7)
	speed("pipe to file, 1 MiB pipe", "default", "splice-1m", "ll", 2)
	speed("fio's splice engine", "default", "fio-splice-1", "ll", 1.15)
	speed("dax=never, cached 4 KiB read", "never", "cached-read-4k", "ll-wb", 0.95)
	speed("dax=never, mmap read", "never", "mmap-read", "ll-wb", 0.95)
	speed("dax=never, buffered 4 KiB write", "never", "cached-write-4k", "ll-wb", 0.95)
	speed("create", "default", "create", "ll", 1.5)
	speed("create and 4 KiB", "default", "create-4k", "ll", 1.5)
	speed("open, read, close", "default", "open-read-close", "ll", 1.5)
	speed("append", "default", "append", "ll", 1.5)
	speed("rename", "default", "rename", "ll", 1.5)
	speed("unlink", "default", "unlink", "ll", 1.5)
	speed("mkdir", "default", "mkdir", "ll", 1.4)
	speed("stat of a known name", "default", "stat", "tmpfs", 0.95)
	goal("daemon CPU per GiB written, 1 MiB", "cpu", "default", "write-1m", "ll", "",
	     0.6, "max")
	goal("context switches, 4 KiB read", "switches", "default", "randread-4k", "ll", "",
	     1.05, "max")
	goal("context switches, 4 KiB write", "switches", "default", "randwrite-4k", "ll", "",
	     1.05, "max")
	goal("create among 1,000,000 names", "speed", "default", "big-create-1000000",
	     "default", "big-create-1000", 0.5)
	goal("lookup among 1,000,000 names", "speed", "default", "big-lookup-1000000",
	     "default", "big-lookup-1000", 0.5)
	goal("unlink among 1,000,000 names", "speed", "default", "big-unlink-1000000",
	     "default", "big-unlink-1000", 0.5)
}
