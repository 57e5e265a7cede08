import { expect } from 'chai';
import { BundleError } from '../../../shared/bundle/bundle-error.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { packSample, type SampleOptions, type SampleParts, sampleParts } from './sample-bundle.js';

/** A change that makes a valid bundle invalid, and the expected error. */
export interface BadBundle {
  readonly title: string;
  readonly from?: SampleOptions;
  readonly spoil: (parts: SampleParts) => void;
  readonly member: string;
  readonly reason: RegExp | string;
}

/** Defines a test: the sample bundle is valid, and with the change it is refused for exactly one reason. */
export function itRefuses({ title, from = {}, spoil, member, reason }: BadBundle): void {
  it(`refuses ${title}`, () => {
    const parts = sampleParts(from);
    checkBundle(packSample(parts));
    spoil(parts);
    const error = refusalOf(() => checkBundle(packSample(parts)));
    expect(error.member).to.equal(member);
    expectReason(error, reason);
    expect(error.problems, error.reason).to.have.length(1);
  });
}

/** A member of the sample's manifest, its invalid value (undefined: removed), and the expected reason. */
export type BadManifest = readonly [title: string, path: string, value: unknown, reason: RegExp | string];

/** Defines a test: the sample bundle with this manifest is refused for this reason. */
export function itRefusesManifest([title, path, value, reason]: BadManifest): void {
  it(`refuses ${title}`, () => {
    const parts = sampleParts();
    put(parts.manifest, path, value);
    const error = refusalOf(() => checkBundle(packSample(parts)));
    expect(error.member).to.equal('manifest.json');
    expectReason(error, reason);
  });
}

/** Returns the BundleError that `check` throws. Throws any other error, and one when `check` does not throw. */
export function refusalOf(check: () => unknown): BundleError {
  try {
    check();
  } catch (error) {
    if (error instanceof BundleError) return error;
    throw error;
  }
  throw new Error('the bundle was not refused');
}

/** As `refusalOf`, for a promise. */
export async function refusalLater(check: Promise<unknown>): Promise<BundleError> {
  const outcome = await check.then(
    () => new Error('the bundle was not refused'),
    (error: unknown) => error,
  );
  if (outcome instanceof BundleError) return outcome;
  throw outcome;
}

/**
 * Sets a member deep within an object, or removes it when the value is undefined.
 * @param path for example `features.2.columns.0`
 */
export function put(target: object, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let holder: object = target;
  for (const key of keys) {
    const next: unknown = Reflect.get(holder, key);
    if (typeof next !== 'object' || next === null) throw new Error(`the object has no ${path}`);
    holder = next;
  }
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else Reflect.set(holder, last, value);
}

function expectReason(error: BundleError, reason: RegExp | string): void {
  if (typeof reason === 'string') expect(error.reason).to.equal(reason);
  else expect(error.reason).to.match(reason);
  expect(error.message).to.equal(`${error.member}: ${error.reason}`);
}
