#!/usr/bin/env node
import { launch } from '../bin/launch.mjs'

await launch('./build-deb.ts')
