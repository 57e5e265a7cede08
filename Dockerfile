# One image for five commands: node dist/api/main.js (the default), node dist/api/console/main.js, node dist/api/bulk/main.js,
# node dist/worker/main.js, node dist/scripts/cli/main.js.
ARG NODE_VERSION=24.21.0
FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY . .
# The set-up installs packages and compiles. With both URLs set it looks for no servers, which run in other containers.
RUN --mount=type=cache,target=/npm-cache \
    npm_config_cache=/npm-cache REDIS_URL=elsewhere MONGODB_URL=elsewhere node scripts/setup.mjs \
    && npm prune --omit=dev --ignore-scripts \
    && rm -rf .local test dist/test node_modules/onnxruntime-node/bin/napi-*/darwin node_modules/onnxruntime-node/bin/napi-*/win32

FROM node:${NODE_VERSION}-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app ./
USER node
EXPOSE 8080
CMD ["node", "--max-semi-space-size=16", "dist/api/main.js"]
