import type { ErrorCode, ShoalError } from '../../shared/errors.ts'

const steps: Partial<Record<ErrorCode, string>> = {
  auth_required: 'set SHOAL_KEY to your key, or give it with --key',
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

const OTHER_ROLE = 'use a key with that role; an operator can issue one'

/** What the user can do about an error; undefined where the message says it all. */
export const nextStep = ({ code, message, retryAfterSeconds }: ShoalError): string | undefined => {
  if (code === 'rate_limited' || code === 'draining')
    return `try again in ${retryAfterSeconds ?? 1} s`
  // much is forbidden that no other role would allow
  if (code === 'forbidden' && message.includes(' role ')) return OTHER_ROLE
  return steps[code]
}
