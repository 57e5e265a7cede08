import { copyFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/**
 * `node download-mongod.mjs FOLDER TARGET`, run by install-mongod.mjs: downloads MongoDB's mongod for this system into
 * FOLDER, checks its checksum, and copies the program to TARGET. On failure it exits with 1 and one line on standard
 * error. It is a separate program so that it can have a time limit.
 */
const reachLimitMs = 4000;
const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];

const require = createRequire(import.meta.url);
const { DryMongoBinary } = require('mongodb-memory-server-core/lib/util/DryMongoBinary.js');
const { MongoBinary } = require('mongodb-memory-server-core/lib/util/MongoBinary.js');
const { MongoBinaryDownloadUrl } = require('mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js');

const [folder, target] = process.argv.slice(2);
try {
  const options = { ...(await DryMongoBinary.generateOptions({ downloadDir: folder })), checkMD5: true };
  await checkReachable(await new MongoBinaryDownloadUrl(options).getDownloadUrl());
  await copyFile(await MongoBinary.download(options), target);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

/** Fails within seconds when the site cannot be reached. Behind a proxy only the download itself can find out. */
async function checkReachable(url) {
  if (proxyVariables.some((name) => process.env[name])) return;
  const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(reachLimitMs) }).catch((error) => {
    throw new Error(`${new URL(url).host} cannot be reached (${error.cause?.code ?? error.name})`);
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
}
