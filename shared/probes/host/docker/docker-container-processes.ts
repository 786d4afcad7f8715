import { DOCKER } from '../../needs.ts'
import { containerId } from '../../parameters.ts'
import { COMMAND_LINE } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'docker-container-processes',
  call: 'dockerContainerProcesses',
  description: 'Processes in containers, without their arguments.',
  shape: 'list',
  input: { container: containerId },
  units: sizes('KiB', 'vsz', 'rss'),
  removed: COMMAND_LINE,
  needs: [DOCKER],
  argumentsFor: ({ container }) => [container ?? '*'],
})
