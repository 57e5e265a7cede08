import { BundleError } from './bundle-error.js';
import { bundleDigest, goldenFile, manifestFile } from './bundle-files.js';
import { parseGolden } from './golden.js';
import { checkManifest } from './manifest/check-manifest.js';
import type { Manifest } from './manifest/manifest.js';
import { checkCovers } from './onnx/check-covers.js';
import { checkOnnx } from './onnx/check-onnx.js';

/** A bundle that has passed every check but a run of the model. */
export interface CheckedBundle {
  readonly manifest: Manifest;
  /** `manifest.json` byte for byte, as its author wrote it. */
  readonly manifestBytes: Buffer;
  readonly onnx: Buffer;
  /** Present when `explain.kind` is `tree`: one little-endian float32 for each tree node. */
  readonly covers?: Buffer;
  readonly golden?: Buffer;
  /** Digest of all members, see `bundleDigest`. */
  readonly digest: string;
  /** Ignored keys of the manifest's top level: version 1 of the format does not define them. */
  readonly unknownKeys: readonly string[];
}

/**
 * Checks a bundle's members, the manifest first, without running the model. The golden records are parsed and not
 * compared: that takes the worker's code.
 * @param files members by file name; other files are left out of the result
 * @param options.onnxLimitBytes the largest ONNX file accepted; 64 MiB by default
 * @throws BundleError naming the first member with a problem, and the reasons
 */
export function checkBundle(
  files: ReadonlyMap<string, Buffer>,
  { onnxLimitBytes }: { onnxLimitBytes?: number } = {},
): CheckedBundle {
  const manifestBytes = memberOf(files, manifestFile);
  const { manifest, unknownKeys } = checkManifest(manifestBytes);

  const onnx = memberOf(files, manifest.onnx.file);
  const model = checkOnnx(onnx, {
    manifest,
    ...(onnxLimitBytes === undefined ? {} : { limitBytes: onnxLimitBytes }),
  });
  const members = new Map([
    [manifestFile, manifestBytes],
    [manifest.onnx.file, onnx],
  ]);

  let covers: Buffer | undefined;
  if (manifest.explain?.kind === 'tree') {
    const member = manifest.explain.covers;
    covers = memberOf(files, member);
    checkCovers(covers, { member, graph: model.graph });
    members.set(member, covers);
  }
  const golden = files.get(goldenFile);
  if (golden !== undefined) {
    parseGolden(golden);
    members.set(goldenFile, golden);
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
