import { companyName, contactName } from './lead-names.js';
import {
  COUNTRIES,
  CURRENT_SOLUTIONS,
  INDUSTRIES,
  LEAD_SOURCES,
  PRODUCTS,
  SENIORITIES,
} from './lead-vocabulary.js';
import type { SeededRandom } from './seeded-random.js';

/** One lead as it truly is, before a CRM forgets or garbles any of it. */
export interface LeadProfile {
  readonly company: string;
  readonly contact: string;
  readonly jobTitle: string;
  readonly source: (typeof LEAD_SOURCES)[number];
  readonly industry: (typeof INDUSTRIES)[number];
  readonly country: (typeof COUNTRIES)[number];
  readonly seniority: (typeof SENIORITIES)[number];
  readonly currentSolution: (typeof CURRENT_SOLUTIONS)[number];
  readonly products: readonly (typeof PRODUCTS)[number][];
  readonly employees: number;
  readonly annualRevenueUsd: number;
  /** How keen the lead is, about normal(0, 1); nobody sees it, but the behaviour below follows it. */
  readonly intent: number;
  readonly behaviour: LeadBehaviour;
}

export interface LeadBehaviour {
  readonly createdDaysAgo: number;
  /** Null when the lead never did anything. Never longer ago than `createdDaysAgo`. */
  readonly lastActivityDaysAgo: number | null;
  readonly websiteVisits: number;
  /** One decimal; null without visits. */
  readonly pagesPerVisit: number | null;
  readonly emailOptOut: boolean;
  readonly emailOpens: number;
  /** Clicks per opened e-mail, 0 to 0.95, three decimals; null without opens. */
  readonly emailClickRate: number | null;
  readonly demoRequested: boolean;
}

/**
 * Draws one lead: who they are first, then what they did, which depends on how keen they are.
 * @param random the stream to draw from
 */
export function drawLeadProfile(random: SeededRandom): LeadProfile {
  const source = random.weighted(LEAD_SOURCES);
  const industry = random.weighted(INDUSTRIES);
  const employees = Math.max(1, Math.round(Math.exp(4.6 + 1.6 * random.normal())));
  const revenueUsd = employees * industry.revenuePerHeadUsd * Math.exp(0.5 * random.normal());
  const seniority = random.weighted(senioritiesAt(employees));
  const intent = source.intent + 0.95 * random.normal();
  return {
    company: companyName(random),
    contact: contactName(random),
    jobTitle: random.pick(seniority.jobTitles),
    source,
    industry,
    country: random.weighted(COUNTRIES),
    seniority,
    currentSolution: random.weighted(CURRENT_SOLUTIONS),
    products: PRODUCTS.filter((product) => random.chance((product.weight / 100) * Math.exp(0.3 * intent))),
    employees,
    annualRevenueUsd: Math.max(1000, Math.round(revenueUsd / 1000) * 1000),
    intent,
    behaviour: drawBehaviour({ random, intent, sourceName: source.value }),
  };
}

/** The smaller the company, the more often it is the chief who fills in the form. */
function senioritiesAt(employees: number): LeadProfile['seniority'][] {
  const smallness = Math.max(0, 3 - Math.log10(employees));
  return SENIORITIES.map((seniority) =>
    seniority.value === 'C-Level'
      ? { ...seniority, weight: seniority.weight * (0.4 + smallness) }
      : seniority,
  );
}

function drawBehaviour({ random, intent, sourceName }: BehaviourDraw): LeadBehaviour {
  const createdDaysAgo = Math.min(400, 1 + random.exponential(90));
  const quietDays = random.exponential(34 * Math.exp(-0.5 * intent));
  const neverActive = random.chance(
    sourceName === 'Cold Outreach' || sourceName === 'List Import' ? 0.45 : 0.03,
  );
  const lastActivityDaysAgo = neverActive ? null : Math.min(createdDaysAgo, quietDays);
  const activeLately = lastActivityDaysAgo !== null && lastActivityDaysAgo < 30;
  const websiteVisits = activeLately ? random.poisson(Math.exp(0.8 + 0.5 * intent)) : 0;
  const emailOptOut = random.chance(logistic(-2.7 - 0.6 * intent));
  const emailOpens = neverActive || emailOptOut ? 0 : random.poisson(Math.exp(0.7 + 0.5 * intent));
  const pages = 1 + Math.exp(0.4 + 0.25 * intent + 0.5 * random.normal());
  const clickRate = 0.95 * logistic(-1.6 + 0.5 * intent + 0.7 * random.normal());
  return {
    createdDaysAgo,
    lastActivityDaysAgo,
    websiteVisits,
    pagesPerVisit: websiteVisits > 0 ? rounded(pages, 1) : null,
    emailOptOut,
    emailOpens,
    emailClickRate: emailOpens > 0 ? rounded(clickRate, 3) : null,
    demoRequested: !neverActive && random.chance(logistic(-2.2 + 1.1 * intent)),
  };
}

interface BehaviourDraw {
  readonly random: SeededRandom;
  readonly intent: number;
  readonly sourceName: string;
}

function logistic(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}

function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
