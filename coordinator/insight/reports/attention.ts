import type { DiagnosisCheck } from '../../fleet/alerts/diagnosis.ts'
import type { BackupStanding } from './backup-standing.ts'

/** Something that needs an operator today. */
export interface Attention {
  severity: 'critical' | 'warn'
  what: string
  /** Command that shows more, or remedy. */
  next: string
}

interface DayFacts {
  checks: readonly DiagnosisCheck[]
  /** Alerts that are raised and that nobody has acknowledged. */
  unacknowledged: readonly { level: 'warn' | 'critical'; message: string }[]
  modelsMissing: readonly string[]
  pendingRequests: number
  deadJobs: number
  /** Configured services that do not answer as they should. */
  faultyServices: readonly { service_id: string; state: string; reason: string | null }[]
  /** Runs of flows that failed within the period. */
  failedRuns: number
  errorPercent: number | null
  backups: BackupStanding
}

/** Shares of failed requests, in percent, above which an operator is needed. */
const ERROR_PERCENT = 1
const CRITICAL_ERROR_PERCENT = 5

/** Lists what needs an operator, critical things first. */
export const listAttention = (facts: DayFacts): Attention[] => {
  const { errorPercent, modelsMissing, pendingRequests, deadJobs, backups } = facts
  const found: Attention[] = [
    ...facts.checks.flatMap(checkAttention),
    ...facts.unacknowledged.map(
      ({ level, message }): Attention => ({
        severity: level,
        what: `Unacknowledged alert: ${message}`,
        next: 'shoal alerts list',
      }),
    ),
  ]
  for (const { service_id, state, reason } of facts.faultyServices)
    found.push({
      severity: state === 'down' ? 'critical' : 'warn',
      what: `Service ${service_id} is ${state}${reason === null ? '' : ` (${reason})`}`,
      next: `shoal skills run cockpit-health-check --service-id ${service_id} --dry-run`,
    })
  const add = (isNeeded: boolean, attention: Attention) => {
    if (isNeeded) found.push(attention)
  }
  add(modelsMissing.length > 0, {
    severity: 'warn',
    what: `Models without a cell: ${modelsMissing.slice(0, 5).join(', ')}`,
    next: 'shoal skills run gap-report',
  })
  add((errorPercent ?? 0) > ERROR_PERCENT, {
    severity: (errorPercent ?? 0) > CRITICAL_ERROR_PERCENT ? 'critical' : 'warn',
    what: `${errorPercent} percent of the requests failed within 24 hours`,
    next: 'shoal skills run performance-report',
  })
  add(pendingRequests > 0, {
    severity: 'warn',
    what: `Pending approval requests: ${pendingRequests}`,
    next: 'shoal gates requests --state pending',
  })
  add(facts.failedRuns > 0, {
    severity: 'warn',
    what: `Runs of flows that failed within 24 hours: ${facts.failedRuns}`,
    next: 'shoal flows runs --state failed',
  })
  add(deadJobs > 0, {
    severity: 'warn',
    what: `Dead letters in the queue: ${deadJobs}`,
    next: 'shoal queue dead letters',
  })
  add(backups.remedy !== undefined, {
    severity: backups.state === 'damaged' ? 'critical' : 'warn',
    what: `Backup: ${backups.state}`,
    next: backups.remedy ?? '',
  })
  return found.toSorted((a, b) => rank(a) - rank(b))
}

const checkAttention = ({ result, title, observed, remedy }: DiagnosisCheck): Attention[] =>
  result !== 'fail' && result !== 'warn'
    ? []
    : [
        {
          severity: result === 'fail' ? 'critical' : 'warn',
          what: `Check failed: ${title} (${observed})`,
          next: remedy ?? 'shoal skills run self-diagnose',
        },
      ]

const rank = ({ severity }: Attention): number => (severity === 'critical' ? 0 : 1)
