import { makeEmbeddedBus, mosquittoBus } from '../../../support/bus.ts'
import { mosquittoMissing } from '../../../support/mosquitto.ts'
import { contract } from './contract.ts'

contract('the embedded broker', makeEmbeddedBus)
contract('a mosquitto outside', mosquittoBus, mosquittoMissing)
contract(
  'a mosquitto that several coordinators share',
  (t, parts) => mosquittoBus(t, { ...parts, replicaId: 'rep_a' }),
  mosquittoMissing,
)
