import { bundleDigest } from './bundle-digest.js';
import { BundleError } from './bundle-error.js';
import { GOLDEN_FILE, MANIFEST_FILE } from './bundle-files.js';
import { checkCovers } from './check-covers.js';
import { checkManifest } from './check-manifest.js';
import { checkOnnx } from './check-onnx.js';
import { parseGolden } from './golden.js';
import type { Manifest } from './manifest.js';

/** A bundle that has passed every check that needs no model to run. */
export interface CheckedBundle {
  readonly manifest: Manifest;
  /** `manifest.json` as its author wrote it, byte for byte. */
  readonly manifestBytes: Buffer;
  readonly onnx: Buffer;
  /** There when `explain.kind` is `tree`: little-endian float32, one for each tree node. */
  readonly covers?: Buffer;
  readonly golden?: Buffer;
  /** Of all members, see `bundleDigest`. */
  readonly digest: string;
  /** Keys of the manifest's top level that this version of the format does not know. */
  readonly unknownKeys: readonly string[];
}

/**
 * Checks a bundle's members, from the manifest outwards; the first member with a problem is the one named. That the
 * model runs, and gives what the golden records say, is for the worker to find out.
 * @param files members by file name, as `readBundle` gives them; further ones are left out of the result
 * @param options `onnxLimitBytes`: the largest ONNX file accepted (64 MiB)
 * @returns the bundle, ready to be stored
 * @throws BundleError with the member and the reason
 */
export function checkBundle(
  files: ReadonlyMap<string, Buffer>,
  { onnxLimitBytes }: { onnxLimitBytes?: number } = {},
): CheckedBundle {
  const manifestBytes = memberOf(files, MANIFEST_FILE);
  const { manifest, unknownKeys } = checkManifest(manifestBytes);

  const onnx = memberOf(files, manifest.onnx.file);
  const model = checkOnnx(onnx, {
    manifest,
    ...(onnxLimitBytes === undefined ? {} : { limitBytes: onnxLimitBytes }),
  });
  const members = new Map([
    [MANIFEST_FILE, manifestBytes],
    [manifest.onnx.file, onnx],
  ]);

  let covers: Buffer | undefined;
  if (manifest.explain?.kind === 'tree') {
    const member = manifest.explain.covers;
    covers = memberOf(files, member);
    checkCovers(covers, { member, graph: model.graph });
    members.set(member, covers);
  }
  const golden = files.get(GOLDEN_FILE);
  if (golden !== undefined) {
    parseGolden(golden);
    members.set(GOLDEN_FILE, golden);
  }
  return {
    manifest,
    manifestBytes,
    onnx,
    ...(covers === undefined ? {} : { covers }),
    ...(golden === undefined ? {} : { golden }),
    digest: bundleDigest(members),
    unknownKeys,
  };
}

function memberOf(files: ReadonlyMap<string, Buffer>, name: string): Buffer {
  const bytes = files.get(name);
  if (bytes === undefined) throw new BundleError(name, 'is missing from the bundle');
  return bytes;
}
