import type { OperatorPrompt } from './prompt.ts'

export const checkTheFleet: OperatorPrompt = {
  name: 'check-the-fleet',
  title: 'Check the fleet',
  description: 'Report the state of the fleet for the start of a shift, and what to do first.',
  arguments: [],
  tools: ['self-diagnose', 'fleet-utilization', 'alerts-list', 'cells-list', 'gates-requests'],
  text: () =>
    [
      'Report on this fleet for the operator who starts the shift.',
      'Call self-diagnose, fleet-utilization, alerts-list, cells-list and gates-requests.',
      'Begin with what is broken or needs a person, worst first, each with the id of the cell',
      'or request and the next step. Then say in two lines how busy the fleet is.',
      'Give numbers as the tools returned them, with their units. Say so when a tool had no data.',
      'Only read: change nothing.',
    ].join('\n'),
}
