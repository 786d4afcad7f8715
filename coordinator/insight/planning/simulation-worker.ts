import { parentPort, workerData } from 'node:worker_threads'
import { type SimulationInput, simulate } from './simulate.ts'

parentPort?.postMessage(simulate(workerData as SimulationInput))
