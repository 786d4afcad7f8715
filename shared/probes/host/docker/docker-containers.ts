import { DOCKER } from '../../needs.ts'
import { all } from '../../parameters.ts'
import { DOCKER_TEXTS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'docker-containers',
  call: 'dockerContainers',
  description: 'Containers with image, state, ports and mounts.',
  shape: 'list',
  input: { all },
  removed: DOCKER_TEXTS,
  needs: [DOCKER],
  argumentsFor: input => [input.all],
})
