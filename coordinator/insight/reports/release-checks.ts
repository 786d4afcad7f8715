import { runChecks } from '../../access/gates/checks.ts'
import type { GovernanceFacts } from '../../access/gates/facts.ts'
import { diagnose, type Observations } from '../../fleet/alerts/diagnosis.ts'
import { findGaps, GAP_AREAS, type GapFacts } from './gaps.ts'
import { type QualityFacts, rateQuality } from './quality.ts'
import type { CheckOutcomes } from './release.ts'

/** What the executable checks of a release judge. */
export interface ReleaseFacts {
  observations: Observations
  governance: GovernanceFacts
  gaps: GapFacts
  quality: QualityFacts
}

/** Runs every executable check. */
export const runReleaseChecks = (facts: ReleaseFacts): CheckOutcomes => {
  const { gaps } = findGaps(facts.gaps)
  return {
    diagnosis: new Map(
      diagnose(facts.observations).map(({ id, result, observed }) => [
        id,
        { passed: passedOf(result), evidence: observed },
      ]),
    ),
    governance: new Map(
      runChecks(facts.governance).map(({ id, passed, reason, evidence }) => [
        id,
        { passed, evidence: reason ?? evidence },
      ]),
    ),
    gaps: new Map(
      GAP_AREAS.map(area => {
        const found = gaps.filter(gap => gap.area === area)
        const names = found.slice(0, 5).map(({ id }) => id)
        const evidence = found.length === 0 ? 'no gap' : `${found.length}: ${names.join(', ')}`
        return [area, { passed: found.length === 0, evidence }]
      }),
    ),
    quality: new Map(
      rateQuality(facts.quality).map(({ id, result, value, unit, measured, target }) => [
        id,
        {
          passed: passedOf(result),
          evidence:
            value === null
              ? 'nothing was measured in 24 hours'
              : `${value} ${unit} of ${measured} measured; target ${target}`,
        },
      ]),
    ),
  }
}

/** A warning is not ready; what was not measured is unknown. */
const passedOf = (result: 'pass' | 'warn' | 'fail' | 'unknown'): boolean | undefined =>
  result === 'unknown' ? undefined : result === 'pass'
