# The service's images: `web`, which receives webhooks and shows pages, and the whole service with git. BASE may come from a
# registry or be made offline; it needs Python 3.11 or newer and a CA bundle. Wheels come from build/wheels, filled by
# scripts/build-service-image; where the base has git, the build needs no network.
ARG BASE=python:3.13-slim
ARG BUILD_BASE=${BASE}
FROM ${BUILD_BASE} AS build
USER 0:0
COPY build/wheels /wheels
COPY requirements.lock /wheels/
# githubkit's models of GitHub's replies are never imported, and are larger than any other package.
RUN python3 -m venv /opt/bot \
 && pip="/opt/bot/bin/python -m pip --no-cache-dir --disable-pip-version-check" \
 && $pip install --no-compile --no-index --find-links /wheels --require-hashes -r /wheels/requirements.lock \
 && $pip install --no-compile --no-index --no-deps /wheels/metaagent-*.whl \
 && $pip uninstall --quiet --yes pip setuptools \
 && rm -rf /opt/bot/lib/python3*/site-packages/githubkit_schemas/v20* \
 && /opt/bot/bin/python -m compileall -q /opt/bot/lib

FROM ${BASE} AS web
USER 0:0
COPY --from=build /opt/bot /opt/bot
RUN mkdir -p -m 0700 /data && chown 65532:65532 /data
USER 65532:65532
ENV METAAGENT_DATA_DIR=/data METAAGENT_HOST=0.0.0.0 PATH=/opt/bot/bin:/usr/local/bin:/usr/bin:/bin
VOLUME /data
EXPOSE 8080
HEALTHCHECK CMD ["/opt/bot/bin/python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:%s/healthz' % os.environ.get('METAAGENT_PORT', '8080'), timeout=5)"]
ENTRYPOINT ["metaagent"]
CMD ["web"]

FROM web
USER 0:0
RUN command -v git >/dev/null \
 || { apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*; }
USER 65532:65532
CMD ["serve"]
