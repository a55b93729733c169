"""Parts of `benchmarks.agentdojo`: AgentDojo's world, a worst-case model, and labels for its tools."""
