import {
  AuditTrail,
  ComplianceCheck,
  GateCheck,
  GateNotApproved,
  PolicyCheck,
  ShoalClient,
} from 'shoal-client'

const { SHOAL_URL: baseUrl = 'http://127.0.0.1:7070', SHOAL_KEY: apiKey = '' } = process.env
const client = new ShoalClient({ baseUrl, apiKey })
const gates = new GateCheck(client)
const plan = { release: '1.4.0', channel: 'stable' }

const { decision } = await new PolicyCheck(client).check({ actionType: 'release.minor' })
console.log('policy:', decision)
const { frameworks } = await new ComplianceCheck(client).check('gdpr')
console.log('controls:', frameworks[0]?.controls.length)

const { id } = await gates.request('gate.minor-release-approve', plan, 'release 1.4.0')
try {
  await gates.require('gate.minor-release-approve', id)
  await gates.consume(id, plan)
  console.log('released')
} catch (error) {
  if (!(error instanceof GateNotApproved)) throw error
  console.log('not released:', error.gateStatus)
  const [last] = await new AuditTrail(client).query({ since: '1h' }, 1)
  console.log('last in the audit:', last?.action)
  process.exitCode = 75
}
