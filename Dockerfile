# jitrl in a container:
#   docker build -t jitrl .
#   docker run -it --rm -v jitrl-saves:/saves jitrl                       # the app
#   docker run --rm -v jitrl-saves:/saves jitrl run pantry --episodes 5   # without a screen
FROM python:3.12-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc git libc6-dev make
RUN pip install --no-cache-dir uv && uv venv /opt/jitrl
WORKDIR /src
COPY . .
# The wheel that is built for this carries Jericho, so that nothing is compiled later.
RUN uv pip install --python /opt/jitrl/bin/python --no-cache .

FROM python:3.12-slim-bookworm
COPY --from=build /opt/jitrl /opt/jitrl
# The embedded model computes in several threads with OpenMP.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home player && install -d -o player /saves
USER player
ENV JITRL_SAVES=/saves PATH=/opt/jitrl/bin:$PATH TERM=xterm-256color COLORTERM=truecolor
VOLUME /saves
ENTRYPOINT ["jitrl"]
