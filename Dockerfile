# The sample controller in its production form: docker build -t sample-controller .
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv --without-pip /venv
COPY pyproject.toml README.md LICENSE ./
COPY clientgo clientgo
COPY sample_controller sample_controller
RUN pip --python /venv install --no-cache-dir '.[metrics]'

FROM python:3.13-slim
# No file is written at run time: the root filesystem may be read-only.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /venv /venv
WORKDIR /app
COPY examples/production_controller examples/production_controller
USER 65532:65532
ENTRYPOINT ["/venv/bin/python", "-m", "examples.production_controller"]
