import type { Flow, FlowStep, FlowsConfig, SynergiesConfig } from '../../../agents/flows/flow.ts'
import { REPAIR_FLOW } from '../../../agents/flows/flow.ts'
import type { FlowRun } from '../../../agents/flows/run.ts'
import type { flows } from '../../registers/definitions/flows.ts'
import type { RecordOf } from '../../registers/register.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

type Layer = ReturnType<typeof createLayer>

/** Configured flows with the skills and gates of their steps, and the synergies that run them. */
export const flowFacts = (flows: FlowsConfig, synergies: SynergiesConfig): GraphFacts => {
  const layer = createLayer('flows')
  for (const [id, flow] of Object.entries(flows)) addFlow(layer, id, flow)
  for (const [id, { description, flows: ids, on }] of Object.entries(synergies)) {
    const attributes = { flows: ids.length, starts_on: on ?? null }
    const synergy = layer.addNode({ kind: 'synergy', key: id, text: description, attributes })
    for (const flow of ids) layer.addEdge(synergy, 'uses', nodeId('flow', flow))
  }
  const text = 'Repairs a service that is down, after an approval.'
  const repair = layer.addNode({ kind: 'flow', key: REPAIR_FLOW, text, attributes: { steps: 1 } })
  layer.addEdge(repair, 'uses', nodeId('skill', 'repair-trigger'))
  layer.addEdge(repair, 'passes', nodeId('gate', 'gate.repair-run'))
  return layer
}

const addFlow = (layer: Layer, id: string, { description, team, cost_eur, steps }: Flow): void => {
  const attributes = { team: team ?? null, cost_eur, steps: steps.length }
  const flow = layer.addNode({ kind: 'flow', key: id, text: description, attributes })
  for (const step of steps) {
    for (const skill of skillsOf(step)) layer.addEdge(flow, 'uses', nodeId('skill', skill))
    if (step.gate !== undefined) layer.addEdge(flow, 'passes', nodeId('gate', step.gate))
  }
}

const skillsOf = ({ skill, compensate }: FlowStep): string[] =>
  [skill, compensate?.skill].filter(id => id !== undefined)

/** Open runs of the tenant, with the flow or synergy and the services that they are about. */
export const runFacts = (runs: readonly FlowRun[]): GraphFacts => {
  const layer = createLayer('flows')
  for (const { id, flowId, synergyId, state, createdAt, steps } of runs) {
    const attributes = { state, started_at: new Date(createdAt).toISOString() }
    const text = synergyId ?? flowId
    const run = layer.addNode({ kind: 'flow-run', key: id, text, attributes })
    const target = synergyId === undefined ? nodeId('flow', flowId) : nodeId('synergy', synergyId)
    layer.addEdge(run, 'runs', target)
    if (flowId === REPAIR_FLOW && steps[0] !== undefined)
      layer.addEdge(run, 'about', nodeId('service', steps[0].id))
  }
  return layer
}

/** Flows that the tenant keeps in its register. */
export const collectRecordedFlowFacts = (
  records: readonly RecordOf<typeof flows>[],
): GraphFacts => {
  const layer = createLayer('flows')
  for (const { id, name, description = '', state, skills } of records) {
    const attributes = { state, steps: skills.length }
    const flow = layer.addNode({ kind: 'flow', key: id, name, text: description, attributes })
    for (const skill of skills) layer.addEdge(flow, 'uses', nodeId('skill', skill))
  }
  return layer
}
