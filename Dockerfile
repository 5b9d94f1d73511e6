# The sample controller in its production form: docker build -t sample-controller .
FROM python:3.13-slim AS build
WORKDIR /src
# Only files with these hashes are installed. `make constraints` writes them.
COPY constraints.txt ./
RUN pip download --no-cache-dir --no-deps --only-binary :all: --require-hashes --dest /wheels -r constraints.txt
COPY pyproject.toml PACKAGE.md LICENSE NOTICE ./
COPY clientgo clientgo
COPY sample_controller sample_controller
RUN python -m venv --without-pip /venv
RUN pip --python /venv install --no-cache-dir --no-index --find-links /wheels '.[metrics]'

FROM python:3.13-slim
# No file is written at run time: the root filesystem may be read-only.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /venv /venv
WORKDIR /app
COPY examples/production_controller examples/production_controller
USER 65532:65532
# Kubernetes does not use this, but the probes of the Deployment.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["/venv/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8081/healthz', timeout=3)"]
ENTRYPOINT ["/venv/bin/python", "-m", "examples.production_controller"]
CMD ["--health-probe-bind-address=:8081"]
