import { copyFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/**
 * Run by install-mongod.mjs as `node download-mongod.mjs FOLDER TARGET`: downloads MongoDB's own mongod for this
 * system into FOLDER, checks its sum, and copies the program to TARGET. A program of its own so that it can be
 * given a time limit. Exits with 1 and one line on standard error when it cannot.
 */
const REACH_LIMIT_MS = 4000;
const PROXY_VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];

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

/** Fails within seconds where the site cannot be reached. Behind a proxy only the download itself can tell. */
async function checkReachable(url) {
  if (PROXY_VARIABLES.some((name) => process.env[name])) return;
  const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(REACH_LIMIT_MS) }).catch(
    (error) => {
      throw new Error(`${new URL(url).host} cannot be reached (${error.cause?.code ?? error.name})`);
    },
  );
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
}
