-- What is taken for something that then does not come about goes back at once: such a refund has a
-- purpose of its own, so that neither the charge nor the refund counts in what a leg shows as paid
-- and refunded.
update payment set purpose = 'undo'
where operation = 'refund' and purpose in ('cancel', 'card')
    and (key like 'pay\_%:back:%' or key like 'pay\_%:late:%' or key like 'crd\_%:back:%');
