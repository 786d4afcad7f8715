import type { ErrorCode, ShoalError } from '../../shared/errors.ts'

const steps: Partial<Record<ErrorCode, string>> = {
  auth_required: 'set SHOAL_KEY to your key, or give it with --key',
  forbidden: 'use a key with that role; an operator can issue one',
  tenant_forbidden: 'leave --tenant and SHOAL_TENANT out, or use a key of that tenant',
  tier_exceeded: 'wait for the next month, or use a key of a larger tier',
  not_found: 'the list command of the same group shows what is there',
  invalid_model: 'shoal models list shows what your key may use',
  model_not_found: 'shoal models list shows what your key may use',
  invalid_request: 'add --help to the command to see what it takes',
  host_not_allowed: 'add the name in the address to http.allowed_hosts of the coordinator',
  cell_unavailable: 'shoal health tells how many cells and models are there',
  broker_unavailable: 'start the broker that the coordinator is set to use, or look at its log',
  coordinator_unavailable: 'start it with npm start, or set SHOAL_URL or --url to where it listens',
}

/** What the user can do about an error; undefined where the message says it all. */
export const nextStep = ({ code, retryAfterSeconds }: ShoalError): string | undefined =>
  code === 'rate_limited' || code === 'draining'
    ? `try again in ${retryAfterSeconds ?? 1} s`
    : steps[code]
