/** How a gate comes out when it is tried. */
export type GateOutcome =
  | { readonly state: 'cleared'; readonly figures: Figures }
  | {
      readonly state: 'too_early' | 'failed';
      readonly figures: Figures;
      /** Goes into the summary after the gate's name; begins small and has no full stop. */
      readonly clause: string;
    };

export type Figures = Readonly<Record<string, number>>;

export const cleared = (figures: Figures): GateOutcome => ({ state: 'cleared', figures });
export const tooEarly = (figures: Figures, clause: string): GateOutcome => ({
  state: 'too_early',
  figures,
  clause,
});
export const failed = (figures: Figures, clause: string): GateOutcome => ({
  state: 'failed',
  figures,
  clause,
});

/** A count as summaries write it: `1,240`. */
export const counted = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** A lift as summaries write it: `2.1x`. Rounded down, so that it never claims what was not reached. */
export const timesText = (lift: number): string => `${(Math.floor(lift * 10 + 1e-9) / 10).toFixed(1)}x`;
