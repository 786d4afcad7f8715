import { loadFeatures, loadFrameworks } from '../../../access/gates/compliance/frameworks.ts'
import type { Gates } from '../../../access/gates/definition.ts'
import type { Policy } from '../../../access/gates/policy.ts'
import type { AgentRole } from '../../../agents/sessions/roles.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

interface GovernanceSources {
  definitions: Gates
  policy: Pick<Policy, 'decide'>
  roles: readonly AgentRole[]
  /** Open requests of the tenant. */
  requests: readonly GateRequest[]
}

/** The agent that decides on actions by itself: what the policy says of it holds for all. */
const ANYBODY = { kind: 'autonomous', roles: [] } as const

/** Gates, the roles that approve them, roles of agents with their skills and actions. */
export const governanceFacts = (sources: GovernanceSources): GraphFacts => {
  const { definitions, policy, roles, requests } = sources
  const layer = createLayer('governance')
  const operatorRoles = new Set<string>()
  for (const [id, { purpose, approvals }] of Object.entries(definitions)) {
    const attributes = { approvals: approvals.length }
    const gate = layer.addNode({ kind: 'gate', key: id, text: purpose, attributes })
    for (const role of new Set(approvals.flat())) {
      operatorRoles.add(role)
      layer.addEdge(gate, 'approved_by', nodeId('role', role))
    }
  }
  const actions = new Set<string>()
  for (const { id, title, purpose, operator_role, skills, actions: own } of roles) {
    const role = layer.addNode({ kind: 'agent-role', key: id, name: title, text: purpose })
    operatorRoles.add(operator_role)
    layer.addEdge(role, 'accountable_to', nodeId('role', operator_role))
    for (const skill of skills)
      if (skill !== '*') layer.addEdge(role, 'uses', nodeId('skill', skill))
    for (const action of own) {
      actions.add(action)
      layer.addEdge(role, 'performs', nodeId('action', action))
    }
  }
  for (const action of actions) {
    const { decision, gateId, reason } = policy.decide(action, ANYBODY)
    const attributes = { decision }
    const node = layer.addNode({ kind: 'action', key: action, text: reason, attributes })
    if (gateId !== undefined) layer.addEdge(node, 'passes', nodeId('gate', gateId))
  }
  for (const role of operatorRoles) layer.addNode({ kind: 'role', key: role })
  for (const { id, gateId, summary, state } of requests) {
    const request = layer.addNode({
      kind: 'request',
      key: id,
      name: summary,
      attributes: { state },
    })
    layer.addEdge(request, 'waits_at', nodeId('gate', gateId))
  }
  return layer
}

/** Frameworks, their controls, and the features and checks that are the evidence. */
export const complianceFacts = (): GraphFacts => {
  const layer = createLayer('compliance')
  const checks = new Set<string>()
  for (const { id, title, controls } of Object.values(loadFrameworks())) {
    const framework = layer.addNode({ kind: 'framework', key: id, name: title })
    for (const control of controls) {
      const node = layer.addNode({
        kind: 'control',
        key: `${id}/${control.id}`,
        name: `${control.id} ${control.title}`,
        text: control.duty ?? '',
        attributes: { needs_declaration: control.duty !== undefined },
      })
      layer.addEdge(node, 'part_of', framework)
      for (const feature of control.features)
        layer.addEdge(node, 'evidenced_by', nodeId('feature', feature))
      for (const check of control.checks) {
        checks.add(check)
        layer.addEdge(node, 'evidenced_by', nodeId('check', check))
      }
    }
  }
  for (const [id, { what, evidence }] of Object.entries(loadFeatures()))
    layer.addNode({ kind: 'feature', key: id, text: what, attributes: { evidence } })
  for (const check of checks) layer.addNode({ kind: 'check', key: check })
  return layer
}
