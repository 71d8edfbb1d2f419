# The service's image. BASE may come from a registry or be made offline; it needs Python 3.11 or newer and a CA
# bundle. Wheels come from build/wheels, filled by scripts/build-service-image; where the base has git, the build needs no network.
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
USER 0:0
COPY build/wheels /wheels
COPY requirements.lock /wheels/
RUN python3 -m venv /opt/bot \
 && /opt/bot/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-index \
    --find-links /wheels --require-hashes -r /wheels/requirements.lock \
 && /opt/bot/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-index --no-deps \
    /wheels/metaagent-*.whl

FROM ${BASE} AS bot
USER 0:0
COPY --from=build /opt/bot /opt/bot
RUN command -v git >/dev/null \
 || { apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*; }
RUN mkdir -p -m 0700 /data && chown 65532:65532 /data
USER 65532:65532
ENV METAAGENT_DATA_DIR=/data METAAGENT_HOST=0.0.0.0 PATH=/opt/bot/bin:/usr/local/bin:/usr/bin:/bin
VOLUME /data
EXPOSE 8080
HEALTHCHECK CMD ["/opt/bot/bin/python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:%s/healthz' % os.environ.get('METAAGENT_PORT', '8080'), timeout=5)"]
ENTRYPOINT ["metaagent"]
CMD ["serve"]
