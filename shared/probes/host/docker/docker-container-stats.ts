import { DOCKER } from '../../needs.ts'
import { containerId } from '../../parameters.ts'
import { DOCKER_TEXTS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'docker-container-stats',
  call: 'dockerContainerStats',
  description:
    'Resource use of containers: processor and memory in percent, memory and traffic in bytes.',
  shape: 'list',
  input: { container: containerId },
  units: sizes('bytes', 'memUsage', 'memLimit', 'rx', 'wx', 'r', 'w'),
  removed: DOCKER_TEXTS,
  needs: [DOCKER],
  argumentsFor: ({ container }) => [container ?? '*'],
})
