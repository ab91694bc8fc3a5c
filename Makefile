# Short names for what the scripts do. Everything asks nothing, needs no terminal, and can be run again after any
# interruption. As root: packages are installed, the image's files belong to root, and so does sandboxd.

PREFIX ?= /usr/local
DESTDIR ?=
MAKEFLAGS += --no-print-directory

.PHONY: all run image test check demo bench install deb clean help packages test-packages

all: packages
	@scripts/compile build

help:
	@echo 'make           compile into build/: sandboxd, sandboxd-api, platformctl'
	@echo 'make run       install what is missing, build everything, start the service on 127.0.0.1:8080'
	@echo 'make image     build the data-science image into build/image'
	@echo 'make test      install what is missing, build everything, run every test'
	@echo 'make check     the fast part of it'
	@echo 'make demo      start a service, run the examples, show what came of them, stop'
	@echo 'make bench     measure, beside a fresh interpreter in bubblewrap'
	@echo 'make install   install below PREFIX (/usr/local), or DESTDIR/PREFIX'
	@echo 'make deb       make a Debian package in build/deb'
	@echo 'make clean     remove build/, except data and the cache of downloads; DISTCLEAN=1 removes these as well'

packages:
	@scripts/install-packages

test-packages:
	@scripts/install-packages --test

image: packages
	@image/build

run: all image
	@exec scripts/run

test:
	@scripts/test

check:
	@scripts/test --fast

demo: all image
	@exec scripts/demo

bench: test-packages all image
	@exec tests/bench/run

install: all image
	@scripts/install '$(PREFIX)' '$(DESTDIR)'

deb: all image
	@scripts/deb

clean:
	@scripts/clean $(if $(DISTCLEAN),--all)
