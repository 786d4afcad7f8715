import alertsList from './alerts/alerts-list.ts'
import auditExport from './audit/audit-export.ts'
import auditQuery from './audit/audit-query.ts'
import auditVerify from './audit/audit-verify.ts'
import cellsConfigGet from './cells/cells-config-get.ts'
import cellsConfigSet from './cells/cells-config-set.ts'
import cellsDedicate from './cells/cells-dedicate.ts'
import cellsDrain from './cells/cells-drain.ts'
import cellsLabel from './cells/cells-label.ts'
import cellsList from './cells/cells-list.ts'
import cellsLoad from './cells/cells-load.ts'
import cellsPin from './cells/cells-pin.ts'
import cellsRelease from './cells/cells-release.ts'
import cellsRenew from './cells/cells-renew.ts'
import cellsResume from './cells/cells-resume.ts'
import cellsRevoke from './cells/cells-revoke.ts'
import cellsSeries from './cells/cells-series.ts'
import cellsShow from './cells/cells-show.ts'
import cellsUnload from './cells/cells-unload.ts'
import cellsUnpin from './cells/cells-unpin.ts'
import commandsCreate from './commands/commands-create.ts'
import commandsList from './commands/commands-list.ts'
import commandsShow from './commands/commands-show.ts'
import complianceReport from './compliance/compliance-report.ts'
import gatesApprove from './gates/gates-approve.ts'
import gatesCheck from './gates/gates-check.ts'
import gatesConsume from './gates/gates-consume.ts'
import gatesList from './gates/gates-list.ts'
import gatesReject from './gates/gates-reject.ts'
import gatesRequest from './gates/gates-request.ts'
import gatesRequests from './gates/gates-requests.ts'
import gatesShow from './gates/gates-show.ts'
import gatesWithdraw from './gates/gates-withdraw.ts'
import keysList from './keys/keys-list.ts'
import keysRequest from './keys/keys-request.ts'
import keysRetire from './keys/keys-retire.ts'
import keysReveal from './keys/keys-reveal.ts'
import keysRevoke from './keys/keys-revoke.ts'
import keysRotate from './keys/keys-rotate.ts'
import type { Operation } from './operation.ts'
import personsCreate from './persons/persons-create.ts'
import personsList from './persons/persons-list.ts'
import policyChecks from './policy/policy-checks.ts'
import routingShow from './routing/routing-show.ts'
import signingKeyRotate from './signing-key/signing-key-rotate.ts'
import signingKeyShow from './signing-key/signing-key-show.ts'
import skillsList from './skills/skills-list.ts'
import skillsShow from './skills/skills-show.ts'
import tagsConfigSet from './tags/tags-config-set.ts'
import tenantsCreate from './tenants/tenants-create.ts'
import tenantsList from './tenants/tenants-list.ts'
import tiersList from './tiers/tiers-list.ts'
import tokensCreate from './tokens/tokens-create.ts'
import tokensList from './tokens/tokens-list.ts'
import tokensRevoke from './tokens/tokens-revoke.ts'
import usageList from './usage/usage-list.ts'

/** Every operation that is not a skill, in the order in which lists show them. */
export const operations: readonly Operation[] = [
  cellsList,
  cellsShow,
  cellsSeries,
  cellsDrain,
  cellsResume,
  cellsLabel,
  cellsDedicate,
  cellsRevoke,
  cellsRelease,
  cellsRenew,
  cellsLoad,
  cellsUnload,
  cellsPin,
  cellsUnpin,
  cellsConfigGet,
  cellsConfigSet,
  tagsConfigSet,
  commandsList,
  commandsCreate,
  commandsShow,
  tokensList,
  tokensCreate,
  tokensRevoke,
  signingKeyShow,
  signingKeyRotate,
  routingShow,
  alertsList,
  policyChecks,
  complianceReport,
  auditQuery,
  auditVerify,
  auditExport,
  keysList,
  keysRequest,
  keysReveal,
  keysRotate,
  keysRetire,
  keysRevoke,
  personsList,
  personsCreate,
  tenantsList,
  tenantsCreate,
  gatesList,
  gatesCheck,
  gatesRequests,
  gatesShow,
  gatesRequest,
  gatesApprove,
  gatesReject,
  gatesWithdraw,
  gatesConsume,
  tiersList,
  usageList,
  skillsList,
  skillsShow,
]
