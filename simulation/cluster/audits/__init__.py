"""Who looks while a run goes on and is no client: `crew.AuditCrew` calls all others.

*audits* hold what brokers derive against what it is derived from, and against what was before;
*probes* ask a running broker's parts what has a known answer and changes nothing; *trials* drive
objects of their own, made of a run's data, beside a model. What is left has a broker meet what it
hardly does by itself: late news, a full disk, a stop while it is cut off.
"""
