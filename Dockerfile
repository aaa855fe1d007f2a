# syntax=docker/dockerfile:1
# The image of mockbroker: its wheel with the admin API and TLS in a virtual environment, on a slim Python.
#
#   docker build -t mockbroker .
#   docker buildx build --platform linux/amd64,linux/arm64 -t mockbroker .
#
# All packages are locked by their hashes. They come from the registry, or from a folder wheels/ in
# the context; with --build-arg PIP_NO_INDEX=1 from that folder alone. docs/containers.md says how
# to run it, scripts/image builds it without a Docker engine.
#
# The path of a request is compiled here: --build-arg COMPILED=false leaves it as Python, and needs
# no C compiler.
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
ARG PIP_NO_INDEX=0
ARG COMPILED=true
ARG MYPYC_OPT_LEVEL=2
ENV PIP_NO_INDEX=${PIP_NO_INDEX} \
    HATCH_BUILD_HOOK_ENABLE_CUSTOM=${COMPILED} \
    MYPYC_OPT_LEVEL=${MYPYC_OPT_LEVEL} \
    PIP_FIND_LINKS=/source/wheels \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
COPY . .
# What builds the wheel stays here. Bytecode is compiled now: whoever the container runs as may not
# write it, and a start should not have to.
# hadolint ignore=DL3008,DL3009
RUN mkdir -p wheels \
  && if [ "$COMPILED" = true ] && ! command -v gcc; then \
    apt-get update --quiet && apt-get install --yes --no-install-recommends gcc libc6-dev; fi \
  && python3 -m venv /builder \
  && python3 -m venv --without-pip /opt/mockbroker \
  && /builder/bin/pip install --quiet --no-cache-dir --require-hashes --requirement requirements/build.txt \
  && /builder/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /dist . \
  && /builder/bin/pip --python /opt/mockbroker/bin/python3 install --quiet --no-cache-dir \
    --require-hashes --requirement requirements/image.txt \
  && /builder/bin/pip --python /opt/mockbroker/bin/python3 install --quiet --no-cache-dir \
    --no-deps --no-index /dist/*.whl \
  && /opt/mockbroker/bin/mockbroker --version

FROM ${BASE}
LABEL org.opencontainers.image.title="mockbroker" \
      org.opencontainers.image.description="A fake Apache Kafka broker for tests" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/mockbroker /opt/mockbroker
ENV PATH=/opt/mockbroker/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    MOCKBROKER_HOST=0.0.0.0 \
    MOCKBROKER_KAFKA_ENV=true
# An id that no user of the base has. The broker writes no file unless it is told to.
USER 10001:10001
WORKDIR /tmp
EXPOSE 9092 9644
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=2s --timeout=5s --start-period=10s --retries=5 \
  CMD ["mockbroker", "healthcheck"]
ENTRYPOINT ["mockbroker"]
CMD ["serve"]
