import type { LeadBehaviour, LeadProfile } from './lead-profile.js';

/**
 * The probability (0 to 1) that a lead converts: the hidden truth of the demo, known to the generator alone.
 * Log-odds are the sum of who the lead is, what they did, one interaction (a senior person who asks for a demo) and
 * a part of their intent that leaves no trace in the table, so that no model can be perfect. The intercept puts the
 * share of converted leads near 14 %.
 */
export function conversionProbability(profile: LeadProfile): number {
  const senior = SENIOR_TITLES.has(profile.seniority.value);
  const logOdds =
    INTERCEPT +
    firmographicLogOdds(profile) +
    behaviourLogOdds(profile.behaviour) +
    (senior && profile.behaviour.demoRequested ? 0.7 : 0) +
    0.2 * profile.intent;
  return 1 / (1 + Math.exp(-logOdds));
}

const INTERCEPT = -3.2;
const SENIOR_TITLES: ReadonlySet<string> = new Set(['Director', 'VP', 'C-Level']);

/** Best near 250 employees: smaller ones have no budget, larger ones take too long. */
function firmographicLogOdds(profile: LeadProfile): number {
  const sizeMisfit = Math.log10(profile.employees) - Math.log10(250);
  const wealthPerHead = Math.log(profile.annualRevenueUsd / profile.employees / 180_000);
  const choices = [
    profile.source,
    profile.industry,
    profile.country,
    profile.seniority,
    profile.currentSolution,
  ];
  const words = [...choices, ...profile.products].reduce((sum, choice) => sum + choice.effect, 0);
  return words - 0.7 * sizeMisfit ** 2 + 0.25 * wealthPerHead;
}

function behaviourLogOdds(behaviour: LeadBehaviour): number {
  const quietDays = behaviour.lastActivityDaysAgo ?? 90;
  return (
    (behaviour.demoRequested ? 1 : 0) +
    (behaviour.emailOptOut ? -0.8 : 0) +
    0.35 * Math.log1p(behaviour.websiteVisits) +
    0.25 * Math.log1p(behaviour.emailOpens) +
    0.12 * (behaviour.pagesPerVisit ?? 1) +
    1.2 * (behaviour.emailClickRate ?? 0) -
    0.012 * Math.min(quietDays, 90) -
    0.002 * Math.min(behaviour.createdDaysAgo, 180)
  );
}
