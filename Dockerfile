# The book, `make run` and Jupyter in a container, for readers on macOS, Windows and other systems. README says how.
#   BASE              a Debian-like image with Python 3.11 or later
#   RUST              the image that the compiler comes from, Rust 1.88 or later, in the folders of the official one
#   DEBIAN_MIRROR     in place of http://deb.debian.org/debian
#   PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST   where Python packages come from
#   USER_ID           who works in the container, so that folders of the host can be shared
# A certificate of the house's own belongs into BASE: /usr/local/share/ca-certificates/NAME.crt.
ARG BASE=debian:trixie-slim
ARG RUST=rust:1-slim-trixie

# The book from stored runs, and Jupyter: no compiler.
FROM ${BASE} AS pages
ARG DEBIAN_MIRROR
ARG USER_ID=1000
RUN set -eu; \
    if [ -n "${DEBIAN_MIRROR:-}" ]; then \
      find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
        -exec sed -i "s|http://deb.debian.org/debian|${DEBIAN_MIRROR}|" {} +; \
    fi; \
    apt-get update -q; \
    apt-get install -yq --no-install-recommends ca-certificates make python3 python3-venv; \
    rm -rf /var/lib/apt/lists/*; \
    useradd --uid "${USER_ID}" --create-home reader; \
    install -d -o reader -g reader /home/reader/gapbook /kept /kept/build /kept/cache /kept/data /kept/runs
USER reader
WORKDIR /home/reader/gapbook
ENV GAPBOOK_BUILD=/kept/build \
    GAPBOOK_CACHE=/kept/cache \
    GAPBOOK_DATA=/kept/data \
    GAPBOOK_RUNS=/kept/runs \
    LANG=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    npm_config_cafile=/etc/ssl/certs/ca-certificates.crt \
    PATH=/home/reader/gapbook/.venv/bin:/usr/local/bin:/usr/bin:/bin
# Packages before the project, so that they are fetched again only where their list changes.
COPY --chown=reader:reader Makefile pyproject.toml requirements.txt ./
COPY --chown=reader:reader gapbook/__init__.py gapbook/package_index.py gapbook/prerequisites.py gapbook/
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_TRUSTED_HOST
RUN touch README.md && GAPBOOK_CACHE=/tmp/cache make .venv/.ready && rm -rf /tmp/cache
COPY --chown=reader:reader . .
# Newer than what was copied, whenever that was written.
RUN touch .venv/.ready
# Pages, runs, what is compiled, and the data of servers, which the layer of a container does not keep.
VOLUME /kept
EXPOSE 8000 8888
CMD ["sh", "-c", "make book && exec python3 -m http.server 8000 --directory /kept/build/published/_build/html"]

# And what measures. Debian's own Rust is older than what the clients need.
FROM ${RUST} AS rust
FROM pages
USER root
RUN set -eu; \
    apt-get update -q; \
    apt-get install -yq --no-install-recommends g++ gcc libc6-dev; \
    rm -rf /var/lib/apt/lists/*
COPY --from=rust --chown=reader:reader /usr/local/cargo /usr/local/cargo
COPY --from=rust --chown=reader:reader /usr/local/rustup /usr/local/rustup
ENV RUSTUP_HOME=/usr/local/rustup \
    PATH=/home/reader/gapbook/.venv/bin:/usr/local/cargo/bin:/usr/local/bin:/usr/bin:/bin
USER reader
