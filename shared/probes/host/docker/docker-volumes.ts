import { DOCKER } from '../../needs.ts'
import { DOCKER_TEXTS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'docker-volumes',
  call: 'dockerVolumes',
  description: 'Volumes of the docker engine.',
  shape: 'list',
  removed: DOCKER_TEXTS,
  needs: [DOCKER],
})
