let isFirstTier = false;

/** Leaves out the tests of `itInFull` from here on. For the processes of `npm test`. */
export function useFirstTier(): void {
  isFirstTier = true;
}

/** Whether all tests run: in `npm run test:full`, and when a file runs by itself. */
export const isFullTier = (): boolean => !isFirstTier;

/** A test of the second tier in a file of the first: another case of a mechanism that a test beside it proves. */
export function itInFull(title: string, test: (this: Mocha.Context) => void | Promise<void>): void {
  if (!isFirstTier) it(title, test);
}

/** A number of runs of a property test: by tier. */
export const runsOfTier = (first: number, full: number): number => (isFirstTier ? first : full);
