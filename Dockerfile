# docker build -t jsdoctor:0.1.0 .                              the tool: no shell, no package manager
# docker build -t jsdoctor:0.1.0-kubectl --target kubectl .     and kubectl, for `check --kube`
# docker build -t jsdoctor:0.1.0-logs --target logs .           and Spark with a Java runtime, for `audit`
# Each runs as user 65532 on a root file system that is mounted read-only, with a writable /tmp.
FROM debian:bookworm-slim AS python
# Versions are not pinned: each build takes Debian's security fixes.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/*

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-pip \
 && rm -rf /var/lib/apt/lists/*
COPY requirements/run.txt requirements/run-logs.txt /source/requirements/
RUN pip install --no-cache-dir --no-compile --require-hashes --target /opt/jsdoctor --requirement /source/requirements/run.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md /source/
COPY jsdoctor /source/jsdoctor
COPY rules /source/rules
RUN pip install --no-cache-dir --no-compile --no-deps --upgrade --target /opt/jsdoctor /source \
 && rm -rf /opt/jsdoctor/bin /opt/jsdoctor/share \
 && python3 -m compileall -q /opt/jsdoctor

# The packages of Debian that Python needs, taken apart. `status.d` is where scanners look for their versions.
FROM python AS root
WORKDIR /packages
RUN apt-get update \
 && apt-get download base-files libbz2-1.0 libc6 libexpat1 libffi8 libgcc-s1 liblzma5 libpython3.11-minimal libpython3.11-stdlib \
      libssl3 libstdc++6 media-types netbase python3-minimal python3.11-minimal tzdata zlib1g \
 && mkdir -p /root-of-image/var/lib/dpkg/status.d \
 && for package in *.deb; do \
      dpkg-deb --extract "$package" /root-of-image \
      && dpkg-deb --field "$package" > "/root-of-image/var/lib/dpkg/status.d/${package%%_*}" || exit 1; \
    done
WORKDIR /root-of-image
RUN mkdir -p etc/ssl/certs home/jsdoctor tmp \
 && cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/ \
 && echo 'root:x:0:0:root:/root:/sbin/nologin' > etc/passwd \
 && echo 'jsdoctor:x:65532:65532::/home/jsdoctor:/sbin/nologin' >> etc/passwd \
 && echo 'jsdoctor:x:65532:' > etc/group \
 && chown 65532:65532 home/jsdoctor \
 && chmod 1777 tmp \
 && find usr/share/doc -type f ! -name copyright -delete \
 && rm -rf usr/share/man usr/share/locale usr/share/lintian usr/share/bug \
 && python3 -m compileall -q -s /root-of-image usr/lib/python3.11

FROM build AS build-logs
RUN pip install --no-cache-dir --no-compile --require-hashes --upgrade --target /opt/jsdoctor --requirement /source/requirements/run-logs.txt \
 && rm -rf /opt/jsdoctor/bin /opt/jsdoctor/share \
 && { python3 -m compileall -q /opt/jsdoctor || echo 'some files are templates, not Python'; }

FROM scratch AS tool
COPY --from=root /root-of-image /
COPY --from=build /opt/jsdoctor /opt/jsdoctor
ENV PYTHONPATH=/opt/jsdoctor PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /home/jsdoctor
ENTRYPOINT ["/usr/bin/python3", "-P", "-m", "jsdoctor"]
CMD ["--help"]

FROM tool AS kubectl
COPY --from=registry.k8s.io/kubectl:v1.33.5 /bin/kubectl /usr/bin/kubectl

FROM tool AS logs
COPY --from=build-logs /opt/jsdoctor /opt/jsdoctor

# The last stage is what `docker build` makes.
FROM tool
